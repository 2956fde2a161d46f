// usage: node swagger.js DISCOVERY OUT    (with google-discovery-to-swagger in NODE_PATH)
// Google's description as Swagger 2.0 for prism. Compute Engine refuses members that a schema lacks; prism
// does so where additionalProperties says it. The format "byte" is dropped: prism expects the other alphabet.
const fs = require('fs');
const out = require('google-discovery-to-swagger').convert(JSON.parse(fs.readFileSync(process.argv[2])));
out.consumes = out.produces = ['application/json'];
for (const schema of Object.values(out.definitions))
  if (schema.properties && !schema.additionalProperties)
    schema.additionalProperties = false;
const walk = value => {
  if (!value || typeof value !== 'object')
    return;
  if (value.format === 'byte')
    delete value.format;
  Object.values(value).forEach(walk);
};
walk(out);
fs.writeFileSync(process.argv[3], JSON.stringify(out));
