// Exits with 0 if the server in this container answers, over TLS or not. There is no curl in a slim image.
const { request: http } = require('node:http');
const { request: https } = require('node:https');

const port = Number(/:(\d+)$/.exec(process.env.SERVICE_HTTP_BIND_ADDRESS ?? '')?.[1] ?? 9000);
const isTls = Boolean(process.env.SERVICE_TLS_CERT_FILE);
// This checks whether the server responds, not who it is: the certificate names another host than this one.
const options = { host: '127.0.0.1', port, path: '/livez', timeout: 4000, rejectUnauthorized: false };
(isTls ? https : http)(options, (response) => process.exit(response.statusCode === 200 ? 0 : 1))
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1))
  .end();
