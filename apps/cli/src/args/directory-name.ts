/** Whether SQL stands behind a directory, or a directory alone: SQL may have a slash too, as in `6/2` or a comment. */
export function precedesSql(words: readonly string[]): boolean {
  const [first = ''] = words;
  return words.length > 1 ? beginsWithDirectory(words) : /^(?:\/(?!\*)|(?:\.{1,2}|~)(?:[\\/]|$))/.test(first);
}

/** Whether the first of the words behind a command is a directory of frames: no handle has a slash, or is one of these. */
export function beginsWithDirectory([first = '']: readonly string[]): boolean {
  return /[\\/]|^(?:\.{1,2}|~)$/.test(first);
}
