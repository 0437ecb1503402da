import * as v from 'valibot';
import { textListOrAny } from './text-list.ts';
import { plainText, type ValueType } from './value-type.ts';

type TextCheck = readonly [isRight: (text: string) => boolean, expected: string];

/** What users get wrong in a base URL. */
export interface BaseUrlMistakes {
  /** Where credentials belong instead. */
  readonly credentials: string;
  /** A path that does not belong to the base URL, and the sentence about it. */
  readonly ending: readonly [path: RegExp, expected: string];
}

/** In this order: the error names the first check that fails. */
function urlChecks(expected: string, { credentials, ending }: BaseUrlMistakes): readonly TextCheck[] {
  return [
    [(text) => !/^[^/]*\/\/[^/?#\\]*@/.test(text), `a URL without credentials (${credentials})`],
    // The URL parser tolerates a missing slash, blanks and backslashes; the host may then differ from the text.
    [(text) => /^https?:\/\/[^/\\\s][^\\\s]*$/i.test(text) && URL.canParse(text), expected],
    [(text) => !/[?#]/.test(text), 'a URL without a query or fragment'],
    [(text) => new URL(text).port !== '0', 'a URL with a port from 1 to 65535'],
    [(text) => !ending[0].test(new URL(text).pathname), ending[1]],
  ];
}

/** The base URL of the time-series database. */
export function httpUrl(): ValueType<string> {
  return baseUrl('an http:// or https:// URL such as http://tsdb.example.com:9000', {
    credentials: 'set tsdb.user and tsdb.password, or tsdb.token, instead',
    ending: [/\/exec\/*$/, 'the base URL, without /exec at its end (the server adds it)'],
  });
}

/** The base URL of an HTTP server, without a slash at its end; a base path is kept. */
export function baseUrl(expected: string, mistakes: BaseUrlMistakes): ValueType<string> {
  const checks = urlChecks(expected, mistakes);
  const schema = v.pipe(
    v.string(expected),
    v.trim(),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const failed = checks.find(([isRight]) => !isRight(dataset.value));
      if (failed !== undefined) addIssue({ message: failed[1] });
    }),
    v.transform((text) => new URL(text).href.replace(/\/+$/, '')),
  );
  return {
    ...plainText('url', expected, schema),
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
