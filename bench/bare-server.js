// The upper bound: Node's HTTP server with one constant response, as a separate process.
import { createServer } from 'node:http';

const BODY = '{"query":"select 1","columns":[{"name":"1","type":"INT"}],"timestamp":-1,"dataset":[[1]],"count":1}';

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
  response.write(BODY);
  response.end();
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
