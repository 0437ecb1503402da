import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { parseCallers } from './callers-file.ts';
import { checkCertificate, createProvedCallers, namesOf } from './credentials.ts';

const authority = await createTestAuthority();

test.each([
  [
    'URIs and DNS names',
    ['spiffe://a.example/reader', 'Host.example', '127.0.0.1'],
    'cn',
    ['spiffe://a.example/reader', 'Host.example'],
  ],
  ['the common name if there is no other', [], 'reader', ['reader']],
  ['the common name beside addresses alone', ['127.0.0.1'], 'reader', ['reader']],
  ['a common name with separators', [], 'a, URI:spiffe://b', ['a, URI:spiffe://b']],
  ['a URI with separators, as one name', ['https://a, DNS:admin'], 'cn', ['https://a, DNS:admin']],
  [
    'a URI with quotes, as one name',
    ['https://a", URI:spiffe://admin, "'],
    'cn',
    ['https://a", URI:spiffe://admin, "'],
  ],
  ['the common name if a DNS name has a separator and is no DNS name', ['x, URI:spiffe'], 'cn', ['cn']],
])('the names of a certificate are %s', async (_what, names, commonName, expected) => {
  const { cert } = await authority.issue(names, { commonName });
  expect(namesOf(new X509Certificate(cert))).toEqual(expected);
});

function row(subject: string, tenant: string): string {
  return `[[certificate]]\nsubject = ${JSON.stringify(subject)}\ntenant = "${tenant}"\npermissions = ["read"]\n`;
}

const { certificates } = parseCallers(
  row('spiffe://a/Reader', 'alpha') + row('Host.example', 'beta') + row('ada', 'gamma'),
);
const NOW = Date.parse('2026-06-01T00:00:00Z');
const LATER = NOW + 1000;

test.each([
  [['spiffe://a/Reader'], 'alpha'],
  [['other.example', 'hOST.example'], 'beta'],
  [['Ada'], 'gamma'],
])('the certificate of %j is a caller of the tenant %s', (names, tenant) => {
  const caller = checkCertificate(certificates, { names, expiresMs: LATER }, NOW);
  expect(caller).toMatchObject({ tenant, permissions: new Set(['read']) });
});

const NO_CALLER = 'The client certificate belongs to no caller.';

test.each([
  ['an unknown name', { names: ['eve'] }, NO_CALLER],
  ['no name', { names: [] }, NO_CALLER],
  ['a URI in another letter case', { names: ['spiffe://a/reader'] }, NO_CALLER],
  ['a name below a known one', { names: ['x.host.example', '*.example'] }, NO_CALLER],
  [
    'the names of two callers',
    { names: ['ada', 'host.example'] },
    'The client certificate has the names of several callers.',
  ],
  [
    'a date in the past',
    { names: ['ada'], expiresMs: NOW },
    'The client certificate expired at 2026-06-01T00:00:00.000Z.',
  ],
  ['no authority', { names: ['ada'], problem: 'CODE' }, 'The client certificate is not valid (CODE).'],
])('a certificate with %s is refused', (_what, certificate, message) => {
  expect(() => checkCertificate(certificates, { expiresMs: LATER, ...certificate }, NOW)).toThrow(message);
});

test.each([
  ['two rows of one subject', row('ada', 'a') + row('ADA', 'b'), 'There are two certificates with the subject "ADA".'],
  ['an empty subject', row('', 'a'), 'Entry 1 of [[certificate]]: subject is not valid.'],
  ['a control character', row('a\u0000', 'a'), 'Entry 1 of [[certificate]]: subject is not valid.'],
  [
    'no subject',
    '[[certificate]]\ntenant = "a"\npermissions = ["read"]\n',
    'Entry 1 of [[certificate]] has no "subject".',
  ],
  ['an unknown key', `${row('ada', 'a')}hash = "x"\n`, 'Entry 1 of [[certificate]] has an unknown key "hash".'],
])('a callers file with %s is refused', (_what, text, message) => {
  expect(() => parseCallers(text)).toThrow(message);
});

const connection = {};
const sources = {};
const caller = { id: 't-reader', tenant: 'alpha', permissions: new Set(['read'] as const) };

function createProved() {
  const proved = createProvedCallers();
  proved.add(connection, 'Bearer a', sources, { caller, untilMs: 1000 });
  return proved;
}

test('the value that a connection has proved is remembered', () => {
  expect(createProved().find(connection, 'Bearer a', sources, 999)).toBe(caller);
});

test.each([
  ['on another connection', {}, 'Bearer a', sources, 0],
  ['for another value', connection, 'Bearer b', sources, 0],
  ['for a longer value', connection, 'Bearer a ', sources, 0],
  ['when the sources have changed', connection, 'Bearer a', {}, 0],
  ['when it has expired', connection, 'Bearer a', sources, 1000],
])('it is checked again %s', (_when, at, authorization, from, nowMs) => {
  expect(createProved().find(at, authorization, from, nowMs)).toBeUndefined();
});

test('a wrong value does not make a connection forget the right one', () => {
  const proved = createProved();
  proved.find(connection, 'Bearer b', sources, 0);
  expect(proved.find(connection, 'Bearer a', sources, 0)).toBe(caller);
});

test.each([
  ['of other sources', {}, 0],
  ['that has expired', sources, 1000],
])('a value %s is not held any longer', (_what, from, nowMs) => {
  const proved = createProved();
  proved.find(connection, 'Bearer a', from, nowMs);
  expect(proved.find(connection, 'Bearer a', sources, 0)).toBeUndefined();
});

test.each(['Bearer e30.other.signature', 'Bearer signature', 'bearer e30.claims.signature', 'signature'])(
  'a JWT is checked again if only its signature is the same: %s',
  (authorization) => {
    const proved = createProvedCallers();
    proved.add(connection, 'Bearer e30.claims.signature', sources, { caller, untilMs: 1000 });
    expect(proved.find(connection, authorization, sources, 0)).toBeUndefined();
    expect(proved.find(connection, 'Bearer e30.claims.signature', sources, 0)).toBe(caller);
  },
);

test('a connection has one value at a time', () => {
  const proved = createProved();
  proved.add(connection, 'Bearer b', sources, { caller, untilMs: 1000 });
  expect(proved.find(connection, 'Bearer a', sources, 0)).toBeUndefined();
});
