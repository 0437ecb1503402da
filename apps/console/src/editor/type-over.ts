import { type Extension, type Transaction } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

/**
 * Replaces the selection by what is typed. Left to Firefox, the text is put before a selection that spans several elements
 * of a shadow root, and the selection stays.
 */
export const typeOver: Extension = EditorView.domEventHandlers({
  beforeinput({ inputType, data }, view) {
    const { main } = view.state.selection;
    if (inputType !== 'insertText' || data === null || main.empty) return false;
    const insert = (): Transaction =>
      view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    // A bracket is put around the selection.
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, main.from, main.to, data, insert))) view.dispatch(insert());
    return true;
  },
});
