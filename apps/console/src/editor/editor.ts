import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { history, historyKeymap, indentWithTab, standardKeymap, toggleComment } from '@codemirror/commands';
import { SQLDialect } from '@codemirror/lang-sql';
import { bracketMatching, HighlightStyle, LanguageSupport, syntaxHighlighting } from '@codemirror/language';
import {
  Compartment,
  EditorState,
  type Extension,
  RangeSetBuilder,
  StateEffect,
  StateField,
  type Text,
  type Transaction,
} from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view';
import { completeAt, MAX_READ_LENGTH, type Proposal } from './complete.ts';
import type { CompletionWords } from './vocabulary.ts';
import { statementAt, statementsOf, type TextRange } from './statement-at.ts';
import { tags } from '@lezer/highlight';

/** An editor of SQL. */
export interface Editor {
  /** What is put into the page. It can be removed and put there again. */
  readonly host: HTMLElement;
  text(): string;
  /** Replaces the text; it can be undone. */
  setText(text: string): void;
  selection(): TextRange;
  select(range: TextRange): void;
  focus(): void;
  /** The words have changed. */
  refreshWords(): void;
  showError(range: TextRange, message: string): void;
  clearError(): void;
  close(): void;
}

/** Options of `createEditor`. */
export interface EditorOptions {
  readonly text: string;
  readonly words: () => CompletionWords;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
  readonly onExplain: () => void;
}

/**
 * Creates an editor. It is in a shadow root: only there its styles are constructed sheets, which the content security
 * policy allows.
 */
export function createEditor(options: EditorOptions): Editor {
  const host = document.createElement('div');
  host.className = 'editor-host';
  const root = host.attachShadow({ mode: 'open' });
  const language = new Compartment();
  const text = (): string => textOf(view.state.doc);
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [extensionsOf(options), language.of(languageOf(options.words()))],
    }),
  });
  return {
    host,
    text,
    setText(changed) {
      if (changed === text()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: changed } });
    },
    selection: () => view.state.selection.main,
    select: ({ from, to }) => view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true }),
    focus: () => view.focus(),
    refreshWords: () => view.dispatch({ effects: language.reconfigure(languageOf(options.words())) }),
    showError(range, message) {
      const from = Math.min(range.from, view.state.doc.length);
      const to = Math.min(range.to, view.state.doc.length);
      // A line can only be marked at its start.
      const start = from < to ? from : view.state.doc.lineAt(from).from;
      const mark = setErrorMark.of({ from: start, to: from < to ? to : start, message });
      view.dispatch({ effects: [mark, EditorView.scrollIntoView(from)] });
    },
    clearError: () => view.dispatch({ effects: setErrorMark.of(undefined) }),
    close: () => view.destroy(),
  };
}

let lastDocument: Text | undefined;
let lastText = '';

/** Returns the text of a document. Several parts of the page ask for it at each key, and it may have megabytes. */
function textOf(document: Text): string {
  if (document !== lastDocument) {
    lastText = document.toString();
    lastDocument = document;
  }
  return lastText;
}

/** Keys of the console: tabs and the link. */
const TAKEN_KEYS = new Set(['Alt-ArrowLeft', 'Alt-ArrowRight', 'Alt-l', 'Mod-Enter']);

function extensionsOf({ words, onChange, onRun, onExplain }: EditorOptions): Extension {
  const act = (action: () => void) => (view: EditorView) => {
    closeCompletion(view);
    action();
    return true;
  };
  return [
    lineNumbers(),
    highlightActiveLineGutter(),
    // SQL of a link may have invisible characters, or ones to reverse the others.
    highlightSpecialChars(),
    history(),
    bracketMatching(),
    closeBrackets(),
    typeOver,
    currentStatement,
    errorMark,
    autocompletion({ override: [(context) => complete(context, words())], icons: false, maxRenderedOptions: 100 }),
    EditorState.tabSize.of(2),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({
      'aria-label': 'SQL',
      'aria-description': 'Press Escape, then Tab, to leave the editor.',
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(textOf(update.state.doc));
    }),
    placeholder('select …'),
    editorTheme,
    keymap.of([
      { key: 'Shift-Mod-Enter', run: act(onExplain) },
      { key: 'Mod-Enter', run: act(onRun) },
      { key: 'Tab', run: acceptCompletion },
      ...closeBracketsKeymap,
      { key: 'Mod-/', run: toggleComment },
      ...standardKeymap.filter(({ key }) => key === undefined || !TAKEN_KEYS.has(key)),
      ...historyKeymap,
      indentWithTab,
    ]),
  ];
}

function languageOf({ keywords }: CompletionWords): Extension {
  const dialect = SQLDialect.define({
    keywords: keywords.join(' '),
    // Not the functions: many are named like columns.
    builtin: '',
    types: TYPES,
    doubleDollarQuotedStrings: true,
    operatorChars: '+-*/%<>!=&|^~:',
    specialVar: '$?',
    identifierQuotes: '"`',
  });
  // Without the completion of the package: there is an own one.
  return new LanguageSupport(dialect.language);
}

const TYPES =
  'bigint blob boolean decimal double float hugeint integer interval json real smallint struct timestamp timestamptz tinyint ubigint uhugeint uinteger usmallint utinyint uuid varchar';

function complete(context: CompletionContext, words: CompletionWords): CompletionResult | null {
  const found = completeAt(textOf(context.state.doc), context.pos, words);
  if (found === undefined) return null;
  const typed = context.state.sliceDoc(found.from, context.pos);
  // An empty word opens the list only when it is asked for, or after a dot.
  if (typed === '' && !context.explicit && context.state.sliceDoc(context.pos - 1, context.pos) !== '.') return null;
  return { from: found.from, options: found.proposals.map(optionOf), validFor: /^[\p{L}\p{N}_$]*$/u };
}

function optionOf({ label, text, kind, detail, info, rank }: Proposal): Completion {
  return {
    label,
    apply: text,
    type: kind,
    detail: detail === '' ? kind : detail,
    boost: rank * 10,
    ...(info !== '' && { info }),
  };
}

const line = Decoration.line({ class: 'cm-statement' });

/** Marks the lines of the statement at the cursor, if there are several statements. */
const currentStatement: Extension = ViewPlugin.fromClass(
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

/** Marks the place of an error; undefined: no place. A change of the text moves the mark along. */
const setErrorMark = StateEffect.define<(TextRange & { readonly message: string }) | undefined>();

/** The mark of an error. Not the linter of CodeMirror: its panels and keys would be a tenth of the console's code. */
const errorMark: Extension = StateField.define<DecorationSet>({
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

/**
 * Replaces the selection by what is typed. Left to Firefox, the text is put before a selection that spans several elements
 * of a shadow root, and the selection stays.
 */
const typeOver: Extension = EditorView.domEventHandlers({
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

/** Every colour is a variable of the page: they have enough contrast in both themes, and change with them. */
const highlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.bool, tags.null], color: 'var(--syntax-keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.literal], color: 'var(--syntax-string)' },
  { tag: tags.number, color: 'var(--syntax-number)' },
  { tag: tags.comment, color: 'var(--syntax-comment)', fontStyle: 'italic' },
  { tag: [tags.standard(tags.name), tags.typeName, tags.special(tags.name)], color: 'var(--syntax-name)' },
]);

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--bg)', fontSize: 'var(--text-m)' },
  '&.cm-focused': { outline: 'none' },
  // An outline would be behind the line numbers.
  '&.cm-focused::after': {
    content: '""',
    position: 'absolute',
    inset: '0',
    zIndex: '300',
    border: '2px solid var(--focus)',
    pointerEvents: 'none',
  },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)', padding: '0.5rem 0' },
  '.cm-content ::selection': {
    backgroundColor: 'var(--selection)',
  },
  '.cm-gutters': { backgroundColor: 'var(--bg-side)', color: 'var(--text-dim)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '.cm-activeLineGutter': { color: 'var(--text)' },
  '.cm-statement': { boxShadow: 'inset 3px 0 0 var(--accent-bg)' },
  '.cm-placeholder': { color: 'var(--text-dim)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-bg)', outline: '1px solid var(--accent)' },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--danger-bg)', color: 'var(--danger)' },
  '.cm-error, .cm-error-line': {
    backgroundColor: 'var(--danger-bg)',
    textDecoration: 'underline wavy var(--danger)',
  },
  '.cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--bg-raised)',
    border: '1px solid var(--line-strong)',
    borderRadius: 'var(--radius)',
    boxShadow: 'var(--shadow)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxWidth: 'min(40rem, 90vw)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    color: 'var(--on-accent)',
    backgroundColor: 'var(--accent-strong)',
  },
  '.cm-completionDetail': { color: 'var(--text-dim)', fontStyle: 'normal' },
  'li[aria-selected] .cm-completionDetail': { color: 'var(--on-accent)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: 'bold' },
  '.cm-completionInfo': { fontFamily: 'var(--font)' },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--bg-side)' },
  '.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-panel input, .cm-panel button': {
    color: 'var(--text)',
    backgroundColor: 'var(--bg-raised)',
    backgroundImage: 'none',
    border: '1px solid var(--line-strong)',
    borderRadius: 'var(--radius)',
  },
});

/** The look of the editor. */
const editorTheme: Extension = [theme, syntaxHighlighting(highlight)];
