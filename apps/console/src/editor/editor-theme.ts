import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

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
export const editorTheme: Extension = [theme, syntaxHighlighting(highlight)];
