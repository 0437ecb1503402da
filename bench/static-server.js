// One file over HTTP with ranges, as Node programs usually send it: a read stream piped into the response.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';

const path = process.argv[2];
const { size } = statSync(path);

const server = createServer((request, response) => {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  const start = Number(first ?? 0);
  const end = Number(last ?? size - 1);
  const length = { 'content-length': end - start + 1, 'accept-ranges': 'bytes' };
  if (first === undefined) response.writeHead(200, length);
  else response.writeHead(206, { ...length, 'content-range': `bytes ${start}-${end}/${size}` });
  createReadStream(path, { start, end }).pipe(response);
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
