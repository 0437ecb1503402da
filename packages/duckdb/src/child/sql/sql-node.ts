/** A node of the syntax tree that `json_serialize_sql` writes. */
export type SqlNode = Readonly<Record<string, unknown>>;

/** Whether a value of the tree is a node, not a list, a text or a number. */
export function isNode(value: unknown): value is SqlNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
