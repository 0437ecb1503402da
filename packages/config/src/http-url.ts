import * as v from 'valibot';
import { textListOrAny } from './text-list.ts';
import { plainText, type ValueType } from './value-type.ts';

type TextCheck = readonly [isRight: (text: string) => boolean, expected: string];

const URL_EXPECTED = 'an http:// or https:// URL such as http://tsdb.example.com:9000';

/** In this order: the error names the first check that fails. */
const URL_CHECKS: readonly TextCheck[] = [
  [
    (text) => !/^[^/]*\/\/[^/?#\\]*@/.test(text),
    'a URL without credentials (set tsdb.user and tsdb.password, or tsdb.token, instead)',
  ],
  // The URL parser tolerates a missing slash, blanks and backslashes; the host may then differ from the text.
  [(text) => /^https?:\/\/[^/\\\s][^\\\s]*$/i.test(text) && URL.canParse(text), URL_EXPECTED],
  [(text) => !/[?#]/.test(text), 'a URL without a query or fragment'],
  [(text) => new URL(text).port !== '0', 'a URL with a port from 1 to 65535'],
  [(text) => !/\/exec\/*$/.test(new URL(text).pathname), 'the base URL, without /exec at its end (the server adds it)'],
];

/** The base URL of an HTTP server, without a slash at its end; a base path is kept. */
export function httpUrl(): ValueType<string> {
  const schema = v.pipe(
    v.string(URL_EXPECTED),
    v.trim(),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const failed = URL_CHECKS.find(([isRight]) => !isRight(dataset.value));
      if (failed !== undefined) addIssue({ message: failed[1] });
    }),
    v.transform((text) => new URL(text).href.replace(/\/+$/, '')),
  );
  return {
    ...plainText('url', URL_EXPECTED, schema),
    redact: (shown) => shown.replace(/^("?).*@/s, '$1***@'),
  };
}

const ORIGINS_EXPECTED = 'a list of origins such as https://app.example.com (no path, no slash at the end), or * alone';

function originFromText(text: string): string | undefined {
  const trimmed = text.toLowerCase();
  if (!/^[a-z][a-z\d+.-]*:\/\/[\w.:[\]-]+$/.test(trimmed) || !URL.canParse(trimmed)) return undefined;
  // The parser knows the origin of http and https URLs only.
  return /^https?:/.test(trimmed) ? new URL(trimmed).origin : trimmed;
}

/** Web origins, as browsers send them in `Origin`. */
export function origins(): ValueType<readonly string[]> {
  return textListOrAny('origins', ORIGINS_EXPECTED, originFromText);
}
