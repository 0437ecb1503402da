import { type Extension, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view';
import type { TextRange } from './error-place.ts';

/** Marks the place of an error; undefined: no place. A change of the text moves the mark along. */
export const setErrorMark = StateEffect.define<(TextRange & { readonly message: string }) | undefined>();

/** The mark of an error. Not the linter of CodeMirror: its panels and keys would be a tenth of the console's code. */
export const errorMark: Extension = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, { changes, effects }) {
    let shown = marks.map(changes);
    for (const effect of effects) if (effect.is(setErrorMark)) shown = marksOf(effect.value);
    return shown;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function marksOf(error: (TextRange & { readonly message: string }) | undefined): DecorationSet {
  if (error === undefined) return Decoration.none;
  const { from, to, message } = error;
  if (from < to) {
    return Decoration.set(Decoration.mark({ class: 'cm-error', attributes: { title: message } }).range(from, to));
  }
  return Decoration.set(Decoration.line({ class: 'cm-error-line', attributes: { title: message } }).range(from));
}
