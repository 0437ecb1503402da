import * as v from 'valibot';
import type { ValueType } from './value-type.ts';

/** A list of texts, or `*` alone for any; comma-separated in a variable. `parse` returns undefined if an item is invalid. */
export function textListOrAny(
  placeholder: string,
  expected: string,
  parse: (text: string) => string | undefined,
): ValueType<readonly string[]> {
  return {
    placeholder,
    expected,
    schema: v.pipe(
      v.array(v.string(expected), expected),
      v.rawTransform(({ dataset, addIssue, NEVER }) => {
        const texts = dataset.value.map((text) => text.trim());
        if (texts.length === 1 && texts[0] === '*') return texts;
        const list = texts.map(parse).filter((item) => item !== undefined);
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
