import { isIP, isIPv6 } from 'node:net';
import * as v from 'valibot';
import { textListOrAny } from './text-list.ts';
import { type Address, plainText, type ValueType } from './value-type.ts';

/** Every IPv4 interface: the host of `:9000`. */
export const ANY_HOST = '0.0.0.0';

/** Formats an address: `127.0.0.1:9000`, `[::1]:9000`. */
export function formatAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function hostFromText(text: string): string | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  if (isIP(bare) !== 0) return bare === text || isIPv6(bare) ? bare : undefined;
  // Digits and dots alone are a mistyped IPv4 address, not a name.
  const isName = /^(?![\d.]+$)(?=.{1,253}$)\w(?:[\w-]*\w)?(?:\.\w(?:[\w-]*\w)?)*\.?$/.test(text);
  return isName ? text : undefined;
}

function addressFromText(text: string): Address | undefined {
  const match = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/.exec(text.trim());
  if (match === null) return undefined;
  const [, hostText = '', portText = ''] = match;
  const host = hostText === '' ? ANY_HOST : hostFromText(hostText);
  const port = Number(portText);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

/** A valibot schema from a parser that returns undefined for invalid text. */
function parsed<T>(parse: (text: string) => T | undefined, expected: string): v.GenericSchema<unknown, T> {
  return v.pipe(
    v.string(expected),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const value = parse(dataset.value);
      if (value !== undefined) return value;
      addIssue({ message: expected });
      return NEVER;
    }),
  );
}

/** `host:port`, `:port` or `[IPv6]:port`. */
export function address(): ValueType<Address> {
  const expected = 'host:port, :port or [IPv6]:port, with a port from 0 to 65535';
  return {
    placeholder: 'host:port',
    expected,
    schema: parsed(addressFromText, expected),
    fromText: (text) => text,
    toText: formatAddress,
    toToml: (value) => JSON.stringify(formatAddress(value)),
  };
}

/** A host name or IP address, without a port. */
export function hostName(): ValueType<string> {
  const expected = 'a host name or an IP address, without a port';
  return plainText(
    'host',
    expected,
    parsed((text) => hostFromText(text.trim()), expected),
  );
}

/** Host names and IP addresses without ports, or `*` alone. */
export function hostNames(): ValueType<readonly string[]> {
  return textListOrAny('hosts', 'a list of host names or IP addresses without ports, or * alone', hostFromText);
}
