// GitHub's own parser of workflows and actions: prints what it finds wrong, a line each.
// usage: node parse.mjs MODULES WORKFLOW ACTION
import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';

// It imports JSON without saying so, which bundlers accept.
register('data:text/javascript,' + encodeURIComponent(`
export async function resolve(name, context, next) {
  const found = await next(name, context);
  if (found.url.endsWith('.json')) found.importAttributes = { type: 'json' };
  return found;
}`));
const [modules, workflow, action] = process.argv.slice(2);
const at = (path) => import(pathToFileURL(`${modules}/@actions/workflow-parser/dist/${path}`));
const { parseWorkflow, convertWorkflowTemplate, NoOperationTraceWriter } = await at('index.js');
const { parseAction } = await at('actions/action-parser.js');
const read = (parse, path) => parse({ name: path, content: readFileSync(path, 'utf8') }, new NoOperationTraceWriter());
const [first, second] = [read(parseWorkflow, workflow), read(parseAction, action)];
const converted = await convertWorkflowTemplate(first.context, first.value);
for (const one of [...first.context.errors.getErrors(), ...second.context.errors.getErrors(), ...(converted.errors ?? [])]) {
  console.log(one.message ?? one.Message);
}
console.log(`${converted.jobs.length} jobs`);
