import * as v from 'valibot';
import type { ValueType } from './value-type.ts';

type ParseItem = (text: string) => string | undefined;

/** A list of texts, or `*` alone for any; comma-separated in a variable. `parse` returns undefined if an item is invalid. */
export function textListOrAny(placeholder: string, expected: string, parse: ParseItem): ValueType<readonly string[]> {
  return listOf(placeholder, expected, (texts) =>
    texts.length === 1 && texts[0] === '*' ? texts : texts.map((text) => parse(text)),
  );
}

/** A list of texts; comma-separated in a variable. `parse` returns undefined if an item is invalid. */
export function textList(placeholder: string, expected: string, parse: ParseItem): ValueType<readonly string[]> {
  return listOf(placeholder, expected, (texts) => texts.map((text) => parse(text)));
}

function listOf(
  placeholder: string,
  expected: string,
  parse: (texts: readonly string[]) => readonly (string | undefined)[],
): ValueType<readonly string[]> {
  return {
    placeholder,
    expected,
    schema: v.pipe(
      v.array(v.string(expected), expected),
      v.rawTransform(({ dataset, addIssue, NEVER }) => {
        const texts = dataset.value.map((text) => text.trim());
        const list = parse(texts).filter((item) => item !== undefined);
        if (list.length === texts.length) return list;
        addIssue({ message: expected });
        return NEVER;
      }),
    ),
    fromText: (text) => text.split(',').map((item) => item.trim()),
    toText: (value) => value.join(','),
    toToml: (value) => `[${value.map((item) => JSON.stringify(item)).join(', ')}]`,
  };
}
