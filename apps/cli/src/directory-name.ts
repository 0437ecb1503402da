/** Whether the first of the words behind a command is a directory of frames: no handle has a slash, or is one of these. */
export function beginsWithDirectory([first = '']: readonly string[]): boolean {
  return /[\\/]|^(?:\.{1,2}|~)$/.test(first);
}
