/** Where something in the configuration came from. */
export type Source =
  | { readonly kind: 'flag'; readonly name: string }
  | { readonly kind: 'argument'; readonly value: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string; readonly key?: string }
  | { readonly kind: 'derived'; readonly from: string }
  | { readonly kind: 'default' };

/** Describes a source on one line: `flag --grpc-port`, `variable SERVICE_GRPC_PORT`. */
export function describeSource(source: Source): string {
  switch (source.kind) {
    case 'flag':
      return `flag ${oneLine(source.name)}`;
    case 'argument':
      return `argument ${JSON.stringify(source.value)}`;
    case 'variable':
      return `variable ${oneLine(source.name)}`;
    case 'file':
      return `file ${oneLine(source.path)}${source.key === undefined ? '' : `, key ${oneLine(source.key)}`}`;
    case 'derived':
      return source.from;
    case 'default':
      break;
  }
  return 'default';
}

/** True if the user gave the value; if not, it is a default. */
export function isGiven(source: Source): boolean {
  return source.kind !== 'default' && source.kind !== 'derived';
}

/** Escapes an arbitrary name for a comment and a terminal. */
function oneLine(name: string): string {
  return name === '' || /[\p{Cc}\p{Cs}]/u.test(name) ? JSON.stringify(name).replaceAll('\x7f', '\\u007f') : name;
}

/** A problem or a warning about the configuration: a problem stops the start, a warning does not. */
export interface Finding {
  readonly source: Source;
  /** The setting it is about, as `section.key`, if it is about one. */
  readonly setting?: string;
  /** The offending value: truncated if long, `***` if secret. */
  readonly value?: string;
  /** The problem, in one sentence. */
  readonly message: string;
  /** How to fix it. */
  readonly hint: string;
}

/** The value of a setting in one source: the text of a flag or variable, or a value of the TOML file. */
export type Given = { readonly source: Source } & ({ readonly text: string } | { readonly value: unknown });
