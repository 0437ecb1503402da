import { type DataType, type Field, Precision, TimeUnit, Type } from '@uwdata/flechette';
import type { ColumnInfo } from './types.ts';

/** Returns the columns of an Arrow schema, with the type names of the server. */
export function columnsOf(fields: readonly Field[]): readonly ColumnInfo[] {
  return fields.map((field) => ({ name: field.name, type: typeName(field.type, field.metadata ?? new Map()) }));
}

/** Whether the decoder reads every value of these fields exactly. It does not for some intervals and decimals. */
export function isExact(fields: readonly Field[]): boolean {
  return fields.every(({ type }) => isExactType(type));
}

function isExactType(type: DataType): boolean {
  if (type.typeId === Type.Interval) return false;
  if (type.typeId === Type.Decimal) return type.scale >= 0;
  if (type.typeId === Type.Dictionary) return isExactType(type.dictionary);
  return !('children' in type) || type.children.every((child) => isExactType(child.type));
}

function typeName(type: DataType, metadata: ReadonlyMap<string, string>): string {
  if (type.typeId === Type.Dictionary) return symbolOf(typeName(type.dictionary, metadata), true);
  if (type.typeId === Type.Int) return INTEGER_NAMES[`${type.signed ? 'int' : 'uint'}${type.bitWidth}`] ?? 'LONG';
  if (type.typeId === Type.Float) return type.precision === Precision.DOUBLE ? 'DOUBLE' : 'FLOAT';
  if (type.typeId === Type.Timestamp) return type.unit === TimeUnit.NANOSECOND ? 'TIMESTAMP_NS' : 'TIMESTAMP';
  const own = metadata.get('svc:type');
  if (type.typeId === Type.Decimal) {
    return type.scale === 0 && own === 'LONG128' ? 'LONG128' : `DECIMAL(${type.precision},${type.scale})`;
  }
  if (type.typeId === Type.FixedSizeBinary) {
    return type.stride === 16 && metadata.get('ARROW:extension:name') === 'arrow.uuid' ? 'UUID' : 'BINARY';
  }
  return symbolOf(PLAIN_NAMES[type.typeId] ?? 'STRING', own === 'SYMBOL');
}

/** Strings with a dictionary, or marked as such, are symbols. */
function symbolOf(name: string, isSymbol: boolean): string {
  return isSymbol && name === 'STRING' ? 'SYMBOL' : name;
}

const INTEGER_NAMES: Readonly<Record<string, string>> = {
  int8: 'BYTE',
  int16: 'SHORT',
  int32: 'INT',
  int64: 'LONG',
  uint8: 'SHORT',
  uint16: 'INT',
  uint32: 'LONG',
  uint64: 'ULONG',
};

const PLAIN_NAMES: Readonly<Record<number, string>> = {
  [Type.Bool]: 'BOOLEAN',
  [Type.Utf8]: 'STRING',
  [Type.LargeUtf8]: 'STRING',
  [Type.Utf8View]: 'STRING',
  [Type.Null]: 'STRING',
  [Type.Date]: 'DATE',
  [Type.Time]: 'TIME',
  [Type.Duration]: 'DURATION',
  [Type.Interval]: 'INTERVAL',
  [Type.Binary]: 'BINARY',
  [Type.LargeBinary]: 'BINARY',
  [Type.BinaryView]: 'BINARY',
  [Type.List]: 'ARRAY',
  [Type.LargeList]: 'ARRAY',
  [Type.FixedSizeList]: 'ARRAY',
  [Type.Struct]: 'STRUCT',
  [Type.Map]: 'MAP',
};
