/** How long a frame can be told to stay. */
export const LIFETIMES: readonly { readonly title: string; readonly ttl: number }[] = [
  { title: '15 minutes', ttl: 900 },
  { title: '1 hour', ttl: 3600 },
  { title: '1 day', ttl: 86_400 },
  { title: '7 days', ttl: 604_800 },
  { title: '30 days', ttl: 2_592_000 },
];
