/** Whether the words are a directory and SQL, or a directory alone. SQL may have a slash too: `6/2`, or a comment. */
export function precedesSql(words: readonly string[]): boolean {
  const [first = ''] = words;
  return words.length > 1 ? beginsWithDirectory(words) : /^(?:\/(?!\*)|(?:\.{1,2}|~)(?:[\\/]|$))/.test(first);
}

/** Whether the first word after a command is a directory of frames: no handle has a slash, or is `.`, `..` or `~`. */
export function beginsWithDirectory([first = '']: readonly string[]): boolean {
  return /[\\/]|^(?:\.{1,2}|~)$/.test(first);
}

/** Whether the words are a directory of frames and what to put there. A single word is the file, also with a slash. */
export function precedesFile(words: readonly string[]): boolean {
  return words.length > 1 && beginsWithDirectory(words);
}
