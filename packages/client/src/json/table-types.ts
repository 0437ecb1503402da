/** A column of a frame or of a result, with the server's name of its type: `LONG`, `DECIMAL(10,2)`, `TIMESTAMP`. */
export interface Column {
  readonly name: string;
  readonly type: string;
}

/** A value of a row. An integer in a nested value is a `bigint` if a `number` cannot hold it. */
export type Value = null | boolean | number | bigint | string | readonly Value[] | { readonly [name: string]: Value };

/** A row of a result, by the names of its columns. */
export type Row = Readonly<Record<string, Value>>;
