// What Google's library for Node makes of a server: `node gcs_client.js URL BUCKET PREFIX` prints a JSON object.
const {Storage} = require('@google-cloud/storage');
const [url, bucketName, prefix] = process.argv.slice(2);
const storage = new Storage({apiEndpoint: url, projectId: 'p', retryOptions: {autoRetry: false}});
const bucket = storage.bucket(bucketName);

async function codeOf(promise) {
  try {
    await promise;
    return 0;
  } catch (error) {
    return error.code;
  }
}

function save(name, text, generation) {
  return bucket.file(name).save(text, {resumable: false, validation: 'crc32c', preconditionOpts: {ifGenerationMatch: generation}});
}

async function main() {
  const told = {};
  await save('n/one', 'first', 0);
  told.again = await codeOf(save('n/one', 'second', 0));
  const [metadata] = await bucket.file('n/one').getMetadata();
  told.named = metadata.name;
  told.replaced = await codeOf(save('n/one', 'third', metadata.generation));
  told.stale = await codeOf(save('n/one', 'fourth', metadata.generation));
  told.content = String((await bucket.file('n/one').download({validation: 'crc32c'}))[0]);
  for (const name of ['n/two', 'n/three', 'other'])
    await save(name, '', 0);
  told.names = (await bucket.getFiles({prefix: 'n/'}))[0].map(file => file.name);
  told.kept = await codeOf(bucket.file('n/two').delete({ifGenerationMatch: metadata.generation}));
  told.deleted = await codeOf(bucket.file('n/two').delete());
  told.gone = await codeOf(bucket.file('n/two').download());
  told.missing = await codeOf(storage.bucket('missing').getMetadata());
  told.versioning = (await bucket.getMetadata())[0].versioning;
  told.state = [];
  for (const file of (await bucket.getFiles({prefix}))[0])
    told.state.push([file.name, (await file.download({validation: 'crc32c', decompress: false}))[0].length > 0]);
  console.log(JSON.stringify(told));
}

main();
