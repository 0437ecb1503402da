/** Parameters of the server that are flags of `svc` with the same name. */
const FLAGS = 'limit|cols|engine|param|ttl|header|delimiter|columns|null|encoding|skip|dateformat|timestampformat';

/** A parameter, with or without the beginning of a value. */
const PARAMETER = new RegExp(`\\??\\b(${FLAGS})=(?=([^\\s,.;)]?))`, 'g');
const FORMAT = /(?:\/exp)?\??\bfmt=(?=\w)/g;

/** Sentences about requests that `svc` sends, and what its user can do. */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/GET \/frames lists all handles/, 'svc list prints all handles'],
  [
    /GET \/ lists the paths of this server|Use one of the methods in the Allow header/,
    'Check that --url or SVC_URL names a data-frame server, and its base path if it has one',
  ],
  [/Send one of these as Content-Type: [^;]*; or add (?=--fmt)/, 'Use '],
  [/its format matches Content-Type/, 'its format is that of --fmt or of its extension'],
  [/Send the body without Content-Encoding/, 'Decompress the file first'],
  [
    /Send the rows in several files: POST \/frames\/\{handle\} appends/,
    'Put the rows in several files: --append adds to a frame',
  ],
  [/Retry after the number of seconds in Retry-After/, 'Try again in a moment'],
];

/**
 * Rewrites a sentence of the server about HTTP in terms of the command line: `engine=local` is `--engine local`. Text in
 * double quotes may be data and stays as it is.
 */
export function inFlags(sentence: string, kind: 'read' | 'write'): string {
  const parts = sentence.split(/("(?:[^"\\]|\\.)*")/);
  const flags = parts.map((part, i) => (i % 2 === 1 ? part : translate(part, kind))).join('');
  const rewritten = SENTENCES.reduce((text, [pattern, better]) => text.replace(pattern, better), flags);
  return rewritten.replaceAll(/\b([Ss])end (?=(?:one of )?--)/g, (_, first: string) =>
    first === 'S' ? 'Use ' : 'use ',
  );
}

function translate(text: string, kind: 'read' | 'write'): string {
  return text
    .replaceAll(PARAMETER, (found, name: string, value: string, at: number) => {
      // At the end, the value follows in quotes.
      const hasValue = value !== '' || at + found.length === text.length;
      return hasValue ? `--${name} ` : `--${name}`;
    })
    .replaceAll(FORMAT, kind === 'write' ? '--fmt ' : '--');
}
