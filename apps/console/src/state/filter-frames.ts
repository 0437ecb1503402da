import type { ListedFrame } from '../api/types.ts';

/** Returns the frames with every word of a filter in their names or columns; those with all in their names come first. */
export function filterFrames(frames: readonly ListedFrame[], filter: string): readonly ListedFrame[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return frames;
  const byName: ListedFrame[] = [];
  const byColumn: ListedFrame[] = [];
  for (const frame of frames) {
    const handle = frame.handle.toLowerCase();
    const hasColumn = (word: string): boolean =>
      (frame.columns ?? []).some(({ name }) => name.toLowerCase().includes(word));
    if (words.every((word) => handle.includes(word))) byName.push(frame);
    else if (words.every((word) => handle.includes(word) || hasColumn(word))) byColumn.push(frame);
  }
  return [...byName, ...byColumn];
}
