package interop

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// columnCase is a column of a type, its values as JSON, and the type in which the server stores it.
type columnCase struct {
	name   string
	sent   arrow.DataType
	values string
	// Absent if it is the type that was sent.
	kept arrow.DataType
	// Absent if they are the values that were sent.
	keptValues string
	// Whether SQL does not have the type, and returns another.
	notInSQL bool
}

const texts = `["", "plain", "quote \" and \\ back", "a,b", "line\nbreak\r\n", "tab\t\u0001", "Grüße", "日本語", "🦆", null]`

var (
	us    = &arrow.TimestampType{Unit: arrow.Microsecond}
	place = arrow.StructOf(nullable("city", arrow.BinaryTypes.String), nullable("at", arrow.ListOf(arrow.PrimitiveTypes.Float64)))
)

func nullable(name string, kind arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: kind, Nullable: true}
}

func symbol(index, value arrow.DataType) arrow.DataType {
	return &arrow.DictionaryType{IndexType: index, ValueType: value}
}

func decimal128(precision, scale int32) arrow.DataType {
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}
}

func timestamp(unit arrow.TimeUnit, zone string) arrow.DataType {
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}
}

// The values are those of the Python suite.
var columnCases = []columnCase{
	{name: "bool", sent: arrow.FixedWidthTypes.Boolean, values: `[true, false, null]`},
	{name: "int8", sent: arrow.PrimitiveTypes.Int8, values: `[-128, 0, 127, null]`},
	{name: "int16", sent: arrow.PrimitiveTypes.Int16, values: `[-32768, 0, 32767, null]`},
	{name: "int32", sent: arrow.PrimitiveTypes.Int32, values: `[-2147483648, 0, 2147483647, null]`},
	{name: "int64", sent: arrow.PrimitiveTypes.Int64, values: `[-9223372036854775808, -1, 9007199254740993, 9223372036854775807, null]`},
	{name: "uint8", sent: arrow.PrimitiveTypes.Uint8, values: `[0, 255, null]`},
	{name: "uint16", sent: arrow.PrimitiveTypes.Uint16, values: `[0, 65535, null]`},
	{name: "uint32", sent: arrow.PrimitiveTypes.Uint32, values: `[0, 4294967295, null]`},
	{name: "uint64", sent: arrow.PrimitiveTypes.Uint64, values: `[0, 9007199254740993, 18446744073709551615, null]`},
	{name: "float16", sent: arrow.FixedWidthTypes.Float16, values: `[1.5, 65504, null]`, kept: arrow.PrimitiveTypes.Float32},
	{name: "float32", sent: arrow.PrimitiveTypes.Float32, values: `[0.1, 16777216, 3.4028234663852886e38, 1e-45, "NaN", "+Inf", "-Inf", null]`},
	{name: "float64", sent: arrow.PrimitiveTypes.Float64, values: `[0.1, 0.3333333333333333, 1e21, 5e-324, 1.7976931348623157e308, "NaN", "+Inf", "-Inf", null]`},
	{name: "decimal32", sent: &arrow.Decimal32Type{Precision: 9, Scale: 2}, values: `["1.10", "-0.05", "9999999.99", null]`, kept: decimal128(9, 2)},
	{name: "decimal64", sent: &arrow.Decimal64Type{Precision: 18, Scale: 4}, values: `["1.1000", "-99999999999999.9999", null]`, kept: decimal128(18, 4)},
	{name: "decimal128", sent: decimal128(38, 10), values: `["-1.5000000000", "9999999999999999999999999999.0123456789", null]`},
	{name: "decimal of scale 0", sent: decimal128(20, 0), values: `["18446744073709551616", "-1", null]`},
	{name: "decimal256", sent: &arrow.Decimal256Type{Precision: 76, Scale: 38}, values: `["99999999999999999999999999999999999999.11111111111111111111111111111111111111", null]`, notInSQL: true},

	{name: "string", sent: arrow.BinaryTypes.String, values: texts},
	{name: "large string", sent: arrow.BinaryTypes.LargeString, values: texts, kept: arrow.BinaryTypes.String},
	{name: "string view", sent: arrow.BinaryTypes.StringView, values: texts, kept: arrow.BinaryTypes.String},
	{name: "dictionary", sent: symbol(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), values: `["b", "a", "b", "", null]`, kept: arrow.BinaryTypes.String},
	{name: "dictionary of unsigned indices", sent: symbol(arrow.PrimitiveTypes.Uint16, arrow.BinaryTypes.String), values: `["x", "y", "x", null]`, kept: arrow.BinaryTypes.String},
	{name: "dictionary of numbers", sent: symbol(arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int64), values: `[7, 9, 7, null]`, kept: arrow.PrimitiveTypes.Int64},
	{name: "binary", sent: arrow.BinaryTypes.Binary, values: `["", "AP/+", "c3Zj", null]`},
	{name: "large binary", sent: arrow.BinaryTypes.LargeBinary, values: `["AQ==", "c3Zj", null]`, kept: arrow.BinaryTypes.Binary},
	{name: "binary view", sent: arrow.BinaryTypes.BinaryView, values: `["AQ==", "bG9uZ2VyIHRoYW4gdHdlbHZlIGJ5dGVz", null]`, kept: arrow.BinaryTypes.Binary},
	{name: "fixed-size binary", sent: &arrow.FixedSizeBinaryType{ByteWidth: 3}, values: `["YWJj", "AAEC", null]`, kept: arrow.BinaryTypes.Binary},
	{name: "uuid", sent: extensions.NewUUIDType(), values: `["00000000-0000-0000-0000-000000000000", "01234567-89ab-cdef-0123-456789abcdef", null]`},
	{name: "null", sent: arrow.Null, values: `[null, null]`, kept: arrow.BinaryTypes.String},

	{name: "date32", sent: arrow.FixedWidthTypes.Date32, values: `[0, 19724, -719528, -719529, 2932897, 2147483647, -2147483647, null]`},
	{name: "date64", sent: arrow.FixedWidthTypes.Date64, values: `[1704153600000, null]`, kept: arrow.FixedWidthTypes.Date32, keptValues: `[19724, null]`},
	{name: "timestamp[s]", sent: timestamp(arrow.Second, ""), values: `[0, 1704164645, null]`, kept: us, keptValues: `[0, 1704164645000000, null]`},
	{name: "timestamp[ms]", sent: timestamp(arrow.Millisecond, ""), values: `[1704164645678, -1, null]`, kept: us, keptValues: `[1704164645678000, -1000, null]`},
	{name: "timestamp[us]", sent: us, values: `[1704164645678901, -62167219200000001, 253402300800000000, 9223372036854775807, -9223372036854775807, null]`},
	{name: "timestamp[us, UTC]", sent: timestamp(arrow.Microsecond, "UTC"), values: `[1704164645678901, null]`},
	{name: "timestamp[us, Europe/Berlin]", sent: timestamp(arrow.Microsecond, "Europe/Berlin"), values: `[1704164645678901, null]`, notInSQL: true},
	{name: "timestamp[ns]", sent: timestamp(arrow.Nanosecond, ""), values: `[1704164645678901234, -1, null]`},
	{name: "time32[s]", sent: arrow.FixedWidthTypes.Time32s, values: `[0, 86399, null]`, kept: arrow.FixedWidthTypes.Time64us, keptValues: `[0, 86399000000, null]`},
	{name: "time32[ms]", sent: arrow.FixedWidthTypes.Time32ms, values: `[11045678, null]`, kept: arrow.FixedWidthTypes.Time64us, keptValues: `[11045678000, null]`},
	{name: "time64[us]", sent: arrow.FixedWidthTypes.Time64us, values: `[11045678901, null]`},
	{name: "time64[ns]", sent: arrow.FixedWidthTypes.Time64ns, values: `[11045678901234, null]`},
	{name: "duration[s]", sent: arrow.FixedWidthTypes.Duration_s, values: `[0, 3723, -3723, null]`, notInSQL: true},
	{name: "duration[ns]", sent: arrow.FixedWidthTypes.Duration_ns, values: `[1, 9223372036854775807, null]`, notInSQL: true},
	{name: "interval", sent: arrow.FixedWidthTypes.MonthDayNanoInterval, values: `[{"months": 14, "days": 3, "nanoseconds": 14706500000000}, {"months": -1, "days": 2, "nanoseconds": -1500000000}, null]`},

	{name: "list", sent: arrow.ListOf(arrow.PrimitiveTypes.Int64), values: `[[1, null, 3], [], [1152921504606846976], null]`},
	{name: "large list", sent: arrow.LargeListOf(arrow.BinaryTypes.String), values: `[["a"], [], null]`, kept: arrow.ListOf(arrow.BinaryTypes.String)},
	{name: "fixed-size list", sent: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16), values: `[[1, 2], [3, null], null]`, kept: arrow.ListOf(arrow.PrimitiveTypes.Int16)},
	{name: "struct", sent: place, values: `[{"city": "Bonn", "at": [50.7, 7.1]}, {"city": null, "at": null}, null]`},
	{name: "map", sent: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), values: `[[{"key": "a", "value": 1}, {"key": "b", "value": null}], [], null]`},
	{name: "list of structs", sent: arrow.ListOf(place), values: `[[{"city": "Bonn", "at": []}, null], null, []]`},
	{name: "list of lists", sent: arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int8)), values: `[[[1], null, []], [], null]`},
}

// sentColumn is the column as it is sent.
func (c columnCase) sentColumn(t *testing.T) arrow.Array {
	t.Helper()
	return arrayOf(t, c.sent, c.values)
}

// keptColumn is the column as the server returns it.
func (c columnCase) keptColumn(t *testing.T) arrow.Array {
	t.Helper()
	kind, values := c.sent, c.values
	if c.kept != nil {
		kind = c.kept
	}
	if c.keptValues != "" {
		values = c.keptValues
	}
	return arrayOf(t, kind, values)
}

// sentBatch has the column and a column of row numbers.
func (c columnCase) sentBatch(t *testing.T) arrow.RecordBatch {
	t.Helper()
	values := c.sentColumn(t)
	counter := array.NewInt32Builder(memory.DefaultAllocator)
	for i := range values.Len() {
		counter.Append(int32(i))
	}
	schema := arrow.NewSchema([]arrow.Field{nullable("i", arrow.PrimitiveTypes.Int32), nullable("v", c.sent)}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{counter.NewArray(), values}, int64(values.Len()))
}

func arrayOf(t *testing.T, kind arrow.DataType, json string) arrow.Array {
	t.Helper()
	values, _, err := array.FromJSON(memory.DefaultAllocator, kind, strings.NewReader(json))
	check(t, err)
	return values
}

// sameColumn compares type and values; NaN is compared by its text.
func sameColumn(t *testing.T, got, want arrow.Array) {
	t.Helper()
	if !arrow.TypeEqual(got.DataType(), want.DataType()) {
		t.Fatalf("%v is not of the type %v", got.DataType(), want.DataType())
	}
	if array.Equal(got, want) || arrow.IsFloating(got.DataType().ID()) && got.String() == want.String() {
		return
	}
	t.Fatalf("%v is not %v", got, want)
}
