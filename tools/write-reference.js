// Writes the two pages of the documentation that come from tables; with --check says whether they are up to date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { formatSettingsReference } from '../packages/config/dist/index.js';
import { ERROR_CODES } from '../packages/errors/dist/index.js';
import { root } from './pack.js';

function errorsReference() {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { http, grpc, meaning, hint }]) => `| \`${code}\` | ${http} | ${grpc} | ${meaning} | ${hint} |`,
  );
  return `# Errors

Every error has a code from this closed set, and the code alone decides both statuses. Over HTTP the body is flat JSON:

\`\`\`json
{"error": "There is no frame \\"trades\\".", "code": "handle_not_found", "hint": "GET /frames lists the handles there are.", "requestId": "r-1"}
\`\`\`

\`error\` says in one sentence what happened, \`hint\` what to do about it, and \`requestId\` names the request in the log.
\`query\` and \`position\` (counted from 0, in characters) are there where the error is about a place in SQL.
The hints below are the usual ones; where the server knows better, it says so.

| Code | HTTP | gRPC | When | Hint |
| ---- | ---- | ---- | ---- | ---- |
${rows.join('\n')}
`;
}

const pages = {
  'docs/configuration.md': formatSettingsReference({ name: 'service' }),
  'docs/errors.md': errorsReference(),
};

for (const [page, text] of Object.entries(pages)) {
  const path = join(root, page);
  const formatted = await format(text, { ...(await resolveConfig(path)), filepath: path });
  if (existsSync(path) && readFileSync(path, 'utf8') === formatted) continue;
  if (process.argv.includes('--check')) {
    console.error(`${page} is not what its table says: run npm run docs.`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, formatted);
  }
}
