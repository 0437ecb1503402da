import { describe, expect, test } from 'vitest';
import { isKey, isTypingKey, keyLabel, type KeyPress } from './commands.ts';

const press = (key: string, held: Partial<KeyPress> = {}): KeyPress => ({
  key,
  code: '',
  altKey: false,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  ...held,
});

describe('an event is a key', () => {
  test.each([
    ['Ctrl+K', press('k', { ctrlKey: true }), false, true],
    ['Ctrl+K', press('K', { ctrlKey: true }), false, true],
    ['Ctrl+K', press('K', { ctrlKey: true, shiftKey: true }), false, false],
    ['Ctrl+K', press('k', { metaKey: true }), false, false],
    ['Ctrl+K', press('k', { metaKey: true }), true, true],
    ['Ctrl+K', press('k', { ctrlKey: true }), true, false],
    ['Alt+T', press('†', { altKey: true, code: 'KeyT' }), true, true],
    ['Alt+T', press('t', { altKey: true, code: 'KeyT', shiftKey: true }), false, false],
    ['Alt+Shift+T', press('T', { altKey: true, code: 'KeyT', shiftKey: true }), false, true],
    ['Alt+1', press('1', { altKey: true, code: 'Digit1' }), false, true],
    ['Alt+ArrowLeft', press('ArrowLeft', { altKey: true }), false, true],
    ['?', press('?', { shiftKey: true }), false, true],
    ['?', press('?'), false, true],
    ['/', press('/', { shiftKey: true }), false, true],
    ['k', press('k'), false, true],
    ['k', press('K', { shiftKey: true }), false, false],
    ['k', press('k', { ctrlKey: true }), false, false],
    ['F6', press('F6'), false, true],
  ])('%s by %j (Mac: %s): %s', (key, event, isMac, expected) => {
    expect(isKey(key, event, isMac)).toBe(expected);
  });
});

test.each([
  ['k', false, true],
  ['/', false, true],
  ['Ctrl+K', false, false],
  ['Alt+T', false, false],
  ['Alt+ArrowLeft', false, false],
  ['Alt+ArrowLeft', true, true],
  ['Escape', false, false],
  ['F6', false, false],
])('whether %s types or moves in a text field (Mac: %s): %s', (key, isMac, expected) => {
  expect(isTypingKey(key, isMac)).toBe(expected);
});

test.each([
  ['Ctrl+Shift+Enter', '⇧ Ctrl ⏎', '⇧⌘⏎'],
  ['Alt+ArrowLeft', 'Alt ←', '⌥←'],
  ['k', 'K', 'K'],
])('%s is written %s, or %s on a Mac', (key, other, mac) => {
  expect([keyLabel(key, false), keyLabel(key, true)]).toEqual([other, mac]);
});
