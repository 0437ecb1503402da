/** A DuckDB column type. */
export type DuckType =
  | { readonly name: string }
  | { readonly name: 'DECIMAL'; readonly precision: number; readonly scale: number }
  | { readonly name: 'LIST' | 'ARRAY'; readonly item: DuckType }
  | { readonly name: 'MAP'; readonly key: DuckType; readonly value: DuckType }
  | { readonly name: 'STRUCT'; readonly fields: readonly { readonly name: string; readonly type: DuckType }[] };
