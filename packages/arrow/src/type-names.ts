import { EXTENSION_METADATA_KEY, TYPE_METADATA_KEY, UUID_EXTENSION } from './format.ts';

/** A field of an Arrow schema, as apache-arrow has it. */
export interface ArrowField {
  readonly type: ArrowType;
  readonly metadata: ReadonlyMap<string, string>;
}

/** An Arrow type, as apache-arrow has it: its number in the format, -1 for a dictionary, and its properties. */
export interface ArrowType {
  readonly typeId: number;
  readonly bitWidth?: number;
  readonly isSigned?: boolean;
  readonly precision?: number;
  readonly scale?: number;
  readonly unit?: number;
  readonly byteWidth?: number;
  readonly children?: readonly ArrowField[] | null;
  /** The type of the values of a dictionary. */
  readonly dictionary?: ArrowType;
}

type PlainName =
  | 'BOOLEAN'
  | 'STRING'
  | 'SYMBOL'
  | 'BINARY'
  | 'UUID'
  | 'DATE'
  | 'TIME'
  | 'TIMESTAMP'
  | 'TIMESTAMP_NS'
  | 'DURATION'
  | 'INTERVAL'
  | 'FLOAT'
  | 'DOUBLE'
  | 'BYTE'
  | 'SHORT'
  | 'INT'
  | 'LONG'
  | 'ULONG'
  | 'LONG128';
type NestedName = 'ARRAY' | 'STRUCT' | 'MAP';

/** The name of a column's type, as clients see it. */
export type TypeName = PlainName | NestedName | `DECIMAL(${number},${number})`;

const DICTIONARY = -1;
const INT = 2;
const FLOAT = 3;
const DECIMAL = 7;
const TIMESTAMP = 10;
const FIXED_SIZE_BINARY = 15;

const DOUBLE_PRECISION = 2;
const NANOSECOND = 3;
const UUID_BYTES = 16;

/** By the number of the type; two numbers of a kind are its large form and its view. */
const PLAIN_NAMES: Readonly<Record<number, PlainName>> = {
  1: 'STRING', // null
  4: 'BINARY',
  19: 'BINARY',
  23: 'BINARY',
  5: 'STRING',
  20: 'STRING',
  24: 'STRING',
  6: 'BOOLEAN',
  8: 'DATE',
  9: 'TIME',
  11: 'INTERVAL',
  18: 'DURATION',
};

const NESTED_NAMES: Readonly<Record<number, NestedName>> = {
  12: 'ARRAY',
  16: 'ARRAY',
  21: 'ARRAY',
  13: 'STRUCT',
  17: 'MAP',
};

/** By the bits of the integer. */
const SIGNED_NAMES: Readonly<Record<number, PlainName>> = { 8: 'BYTE', 16: 'SHORT', 32: 'INT', 64: 'LONG' };
const UNSIGNED_NAMES: Readonly<Record<number, PlainName>> = { 8: 'SHORT', 16: 'INT', 32: 'LONG', 64: 'ULONG' };

/** Returns the type name of a field; undefined if the server does not support the type. */
export function typeName({ type, metadata }: ArrowField): TypeName | undefined {
  const { bitWidth = 0, precision = 0, scale = 0 } = type;
  switch (type.typeId) {
    case DICTIONARY:
      return dictionaryName(type.dictionary, metadata);
    case INT:
      return (type.isSigned === true ? SIGNED_NAMES : UNSIGNED_NAMES)[bitWidth];
    case FLOAT:
      return precision === DOUBLE_PRECISION ? 'DOUBLE' : 'FLOAT';
    case DECIMAL:
      return scale === 0 && metadata.get(TYPE_METADATA_KEY) === 'LONG128'
        ? 'LONG128'
        : `DECIMAL(${precision},${scale})`;
    case TIMESTAMP:
      return type.unit === NANOSECOND ? 'TIMESTAMP_NS' : 'TIMESTAMP';
    case FIXED_SIZE_BINARY: {
      const isUuid = type.byteWidth === UUID_BYTES && metadata.get(EXTENSION_METADATA_KEY) === UUID_EXTENSION;
      return isUuid ? 'UUID' : 'BINARY';
    }
    default:
      return plainName({ type, metadata });
  }
}

/** A dictionary has the type of its values, but a dictionary of strings is a `SYMBOL`. */
function dictionaryName(type: ArrowType | undefined, metadata: ArrowField['metadata']): TypeName | undefined {
  if (type === undefined || type.typeId === DICTIONARY || type.typeId in NESTED_NAMES) return undefined;
  const name = typeName({ type, metadata });
  return name === 'STRING' ? 'SYMBOL' : name;
}

function plainName({ type, metadata }: ArrowField): TypeName | undefined {
  const nested = NESTED_NAMES[type.typeId];
  if (nested !== undefined) return type.children?.every((child) => typeName(child) !== undefined) ? nested : undefined;
  const name = PLAIN_NAMES[type.typeId];
  return name === 'STRING' && metadata.get(TYPE_METADATA_KEY) === 'SYMBOL' ? 'SYMBOL' : name;
}
