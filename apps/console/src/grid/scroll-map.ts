/**
 * The tallest element that all browsers scroll over: Firefox ends at 17 895 697 px, Chromium at 33 554 428 px. Longer content
 * is mapped onto it: near both ends a pixel is a pixel, between them the scroll bar is compressed.
 */
export const MAX_SCROLL_PX = 15_000_000;
const EDGE_PX = 200_000;

/** The heights that a scroll bar maps. */
export interface ScrollSizes {
  /** The height of all rows. */
  readonly contentPx: number;
  /** The height of the part that is visible. */
  readonly viewPx: number;
}

/** Returns the height of the element that is scrolled over. */
export function spacerPx({ contentPx }: ScrollSizes): number {
  return Math.min(contentPx, MAX_SCROLL_PX);
}

/** Whether the scroll bar has fewer pixels than the content. */
export function isCompressed({ contentPx }: ScrollSizes): boolean {
  return contentPx > MAX_SCROLL_PX;
}

/** Returns the place in the content for a position of the scroll bar. */
export function contentFromScroll(scrollTop: number, sizes: ScrollSizes): number {
  const most = Math.max(0, sizes.contentPx - sizes.viewPx);
  const bar = Math.max(0, spacerPx(sizes) - sizes.viewPx);
  const at = clamp(scrollTop, 0, bar);
  if (most <= bar || at <= EDGE_PX) return at;
  if (at >= bar - EDGE_PX) return most - (bar - at);
  return EDGE_PX + ((at - EDGE_PX) / (bar - 2 * EDGE_PX)) * (most - 2 * EDGE_PX);
}

/** Returns the position of the scroll bar for a place in the content: the reverse. */
export function scrollFromContent(content: number, sizes: ScrollSizes): number {
  const most = Math.max(0, sizes.contentPx - sizes.viewPx);
  const bar = Math.max(0, spacerPx(sizes) - sizes.viewPx);
  const at = clamp(content, 0, most);
  if (most <= bar || at <= EDGE_PX) return at;
  if (at >= most - EDGE_PX) return bar - (most - at);
  return EDGE_PX + ((at - EDGE_PX) / (most - 2 * EDGE_PX)) * (bar - 2 * EDGE_PX);
}

/** Returns the value, or the nearer end of a range. */
export function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
