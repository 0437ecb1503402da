import { type Extension, RangeSetBuilder } from '@codemirror/state';
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from '@codemirror/view';
import { MAX_READ_LENGTH } from './complete.ts';
import { statementAt, statementsOf } from './statement-at.ts';

const line = Decoration.line({ class: 'cm-statement' });

/** Marks the lines of the statement that would run, if there are several. */
export const currentStatement: Extension = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = linesOf(view);
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.selectionSet) this.decorations = linesOf(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function linesOf({ state }: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  if (state.doc.length > MAX_READ_LENGTH) return builder.finish();
  const text = state.doc.toString();
  const statement = statementsOf(text).length > 1 ? statementAt(text, state.selection.main.head) : undefined;
  if (statement === undefined) return builder.finish();
  for (let at = statement.from; at <= statement.to;) {
    const { from, to } = state.doc.lineAt(at);
    builder.add(from, from, line);
    at = to + 1;
  }
  return builder.finish();
}
