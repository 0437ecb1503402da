import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient, Metadata } from 'nice-grpc';
import { expect, onTestFinished, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { runToEnd, startProcess, testFile } from './server-process.ts';

const authority = await createTestAuthority();
const settings = (jwks: string) => ({
  SERVICE_AUTH_JWKS: jwks,
  SERVICE_AUTH_JWT_ISSUER: 'https://login.example.com/',
  SERVICE_AUTH_JWT_AUDIENCE: 'svc',
  SERVICE_AUTH_PERMISSIONS_CLAIM: 'scope',
  SERVICE_AUTH_CA_FILE: testFile('ca.pem', authority.cert),
});

test('a JWT of the issuer is accepted over HTTP and gRPC, with its tenant and permissions', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const body = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k' }] });
  const issuer = createServer(await authority.issue(['127.0.0.1']), (_request, response) => response.end(body));
  await new Promise<void>((resolve) => void issuer.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void issuer.close());
  const server = await startProcess({
    env: settings(`https://127.0.0.1:${(issuer.address() as AddressInfo).port}/jwks`),
  });

  const sign = (claims: Readonly<Record<string, unknown>>) =>
    new SignJWT({ iss: 'https://login.example.com/', aud: 'svc', sub: 'ada', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setExpirationTime('5m')
      .sign(privateKey);
  const alpha = `Bearer ${await sign({ tenant: 'alpha', scope: 'openid read write' })}`;
  const beta = `Bearer ${await sign({ tenant: 'beta', scope: 'read' })}`;

  expect((await server.put('x', [{ id: 1 }], { headers: { authorization: alpha } })).status).toBe(201);
  const statusOf = async (authorization: string) =>
    (await server.fetch('/frames/x', { headers: { authorization } })).status;
  expect([await statusOf(alpha), await statusOf(beta), await statusOf(`${alpha}x`)]).toEqual([200, 404, 401]);
  expect((await server.put('x', [{ id: 1 }], { headers: { authorization: beta } })).status).toBe(403);

  const channel = createChannel(server.grpcAddress);
  onTestFinished(() => channel.close());
  const frames = createClient(FrameServiceDefinition, channel);
  const listed = await frames.listFrames({}, { metadata: Metadata({ authorization: alpha }) });
  expect(listed.frames.map(({ handle }) => handle)).toEqual(['x']);
});

test('keys that cannot be fetched at the start end it with exit code 1, a broken file of keys with 2', async () => {
  const unreachable = await runToEnd([], settings('https://127.0.0.1:1/jwks'));
  expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be loaded') });
  const { SERVICE_AUTH_CA_FILE: _ca, ...others } = settings(testFile('jwks.json', '{}'));
  const broken = await runToEnd([], others);
  expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining('variable SERVICE_AUTH_JWKS') });
});
