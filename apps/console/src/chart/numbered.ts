/** Returns items with their places in the list, which identify them: equal items may be there twice. */
export function numbered<T>(items: readonly T[]): { readonly at: number; readonly item: T }[] {
  return items.map((item, at) => ({ at, item }));
}
