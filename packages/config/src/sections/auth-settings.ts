import * as v from 'valibot';
import { type Setting, setting } from '../setting.ts';
import { choice, matchingText, path, plainText, type ValueType } from '../value-type.ts';

const JWKS_RULE = 'the path of a file, or a URL that begins with https://';

/** A file or a URL. Over http, anyone on the way could replace the keys. */
function fileOrHttpsUrl(): ValueType<string> {
  const schema = v.pipe(
    v.string(JWKS_RULE),
    v.regex(/^(?!http:)[^\p{Cc}\p{Cs}]*\S[^\p{Cc}\p{Cs}]*$/iu, JWKS_RULE),
    v.check((text) => !/^https:/i.test(text) || (URL.canParse(text) && /^https:\/\/[^@\s]*$/.test(text)), JWKS_RULE),
  );
  return { ...plainText('file|url', JWKS_RULE, schema), redact: (shown) => shown.replace(/^("?).*@/s, '$1***@') };
}

/** The name of a claim of a JWT. */
const claim = matchingText(
  'claim',
  'the name of a claim: visible ASCII characters without blanks',
  /^[\x21-\x7e]{1,200}$/,
);

/** The section `auth`. */
export const AUTH_SETTINGS = {
  mode: setting({
    type: choice(['none', 'required']),
    default: 'none',
    derived: {
      describe: '`required` if `auth.callers_file` or `auth.jwks` is set, else `none`',
      from: 'auth.callers_file or auth.jwks',
      value: ({ hasCallers }) => (hasCallers ? 'required' : undefined),
    },
    description: 'Whether requests need credentials.',
    example: 'none',
  }),
  callers_file: setting({
    type: path('file'),
    default: undefined,
    description: 'TOML file of the tokens, with their tenants and permissions; changes take effect within 5 seconds.',
    example: '/etc/service/callers.toml',
  }),
  jwks: setting({
    type: fileOrHttpsUrl(),
    default: undefined,
    description: 'Public keys of the issuer of JWTs (JWKS); with it, JWTs are accepted as credentials.',
    example: 'https://login.example.com/.well-known/jwks.json',
  }),
  jwt_issuer: setting({
    type: matchingText('text', 'a text of visible ASCII characters', /^[\x21-\x7e]+$/),
    default: undefined,
    description: 'The claim iss that JWTs must have.',
    example: 'https://login.example.com/',
  }),
  jwt_audience: setting({
    type: matchingText('text', 'a text of visible ASCII characters', /^[\x21-\x7e]+$/),
    default: undefined,
    description: 'The claim aud that JWTs must have.',
    example: 'svc',
  }),
  tenant_claim: setting({
    type: claim,
    default: 'tenant',
    description: 'The claim of a JWT that names the tenant.',
    example: 'tenant',
  }),
  permissions_claim: setting({
    type: claim,
    default: 'permissions',
    description: 'The claim of a JWT with the permissions: a list, or words in a text such as scope.',
    example: 'scope',
  }),
  ca_file: setting({
    type: path('file'),
    default: undefined,
    description:
      'PEM file of the certificate authorities that are trusted for auth.jwks, instead of the well-known ones.',
    example: '/etc/service/login-ca.pem',
  }),
} as const satisfies Record<string, Setting>;
