package main

/*
#cgo LDFLAGS: -lsqlite3
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A call from Go to C costs as much as several calls of SQLite, so each of these functions does a whole statement.

// Runs a query and packs its rows into a buffer: integers and floats as 8 bytes, texts as 4 bytes of length and then the
// text. The format has a character for each column: i, f or t. NULL becomes 0 or an empty text. Tells how many bytes are
// needed if the buffer is too small.
static int query(sqlite3_stmt *statement, const char *format, const int64_t *parameters, int count,
		char *buffer, int64_t capacity, int64_t *used) {
	for (int i = 0; i < count; i++) sqlite3_bind_int64(statement, i + 1, parameters[i]);
	int64_t end = 0;
	int status;
	while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int column = 0; format[column]; column++) {
			if (format[column] == 't') {
				const void *text = sqlite3_column_text(statement, column);
				int32_t length = sqlite3_column_bytes(statement, column);
				if (end + 4 + length <= capacity) {
					memcpy(buffer + end, &length, 4);
					if (length > 0) memcpy(buffer + end + 4, text, length);
				}
				end += 4 + length;
				continue;
			}
			if (end + 8 <= capacity) {
				if (format[column] == 'f') {
					double number = sqlite3_column_double(statement, column);
					memcpy(buffer + end, &number, 8);
				} else {
					int64_t number = sqlite3_column_int64(statement, column);
					memcpy(buffer + end, &number, 8);
				}
			}
			end += 8;
		}
	}
	sqlite3_reset(statement);
	*used = end;
	return status;
}

// Parameters: name, description, price, and an id unless it is 0.
static int write_product(sqlite3_stmt *statement, const char *name, int name_length,
		const char *description, int description_length, double price, int64_t id) {
	sqlite3_bind_text(statement, 1, name, name_length, SQLITE_STATIC);
	sqlite3_bind_text(statement, 2, description, description_length, SQLITE_STATIC);
	sqlite3_bind_double(statement, 3, price);
	if (id != 0) sqlite3_bind_int64(statement, 4, id);
	int status = sqlite3_step(statement);
	sqlite3_reset(statement);
	return status;
}

static int write_review(sqlite3_stmt *statement, int64_t product, int64_t user, int64_t rating,
		const char *comment, int comment_length) {
	sqlite3_bind_int64(statement, 1, product);
	sqlite3_bind_int64(statement, 2, user);
	sqlite3_bind_int64(statement, 3, rating);
	sqlite3_bind_text(statement, 4, comment, comment_length, SQLITE_STATIC);
	int status = sqlite3_step(statement);
	sqlite3_reset(statement);
	return status;
}

static int run(sqlite3_stmt *statement) {
	int status = sqlite3_step(statement);
	sqlite3_reset(statement);
	return status;
}
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// The settings of all servers of the bench. The busy timeout comes first, so that the others wait for locks.
var pragmas = []string{
	"PRAGMA busy_timeout = 10000",
	"PRAGMA journal_mode = WAL",
	"PRAGMA synchronous = FULL",
	"PRAGMA foreign_keys = ON",
	"PRAGMA temp_store = MEMORY",
	"PRAGMA cache_size = -65536",
}

// connection is used by one goroutine at a time.
type connection struct {
	database *C.sqlite3
	// The packed rows of the last query.
	packed []byte
}

// statement is prepared once. The format describes its columns, one character each, and ends with a zero for C.
type statement struct {
	prepared *C.sqlite3_stmt
	format   []byte
}

func open(path string) *connection {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	c := &connection{packed: make([]byte, 1<<20)}
	// The connection is used by one goroutine at a time, so SQLite needs no mutex of its own.
	flags := C.int(C.SQLITE_OPEN_READWRITE | C.SQLITE_OPEN_NOMUTEX)
	c.check(C.sqlite3_open_v2(name, &c.database, flags, nil))
	for _, pragma := range pragmas {
		s := c.prepare(pragma, "")
		c.query(s)
		C.sqlite3_finalize(s.prepared)
	}
	return c
}

func (c *connection) prepare(sql string, format string) statement {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	s := statement{format: append([]byte(format), 0)}
	c.check(C.sqlite3_prepare_v3(c.database, text, -1, C.SQLITE_PREPARE_PERSISTENT, &s.prepared, nil))
	return s
}

// query returns the rows of a statement, which are good until the next query.
func (c *connection) query(s statement, parameters ...int64) rows {
	var first *C.int64_t
	if len(parameters) > 0 {
		first = (*C.int64_t)(unsafe.Pointer(&parameters[0]))
	}
	for {
		var used C.int64_t
		status := C.query(s.prepared, (*C.char)(unsafe.Pointer(&s.format[0])), first, C.int(len(parameters)),
			(*C.char)(unsafe.Pointer(&c.packed[0])), C.int64_t(len(c.packed)), &used)
		c.check(status)
		if int(used) <= len(c.packed) {
			return rows{c.packed[:used]}
		}
		c.packed = make([]byte, 2*used)
	}
}

func (c *connection) run(s statement) {
	c.check(C.run(s.prepared))
}

func (c *connection) writeProduct(s statement, name, description string, price float64, id int64) {
	c.check(C.write_product(s.prepared, chars(name), C.int(len(name)),
		chars(description), C.int(len(description)), C.double(price), C.int64_t(id)))
}

func (c *connection) writeReview(s statement, product, user, rating int64, comment string) {
	c.check(C.write_review(s.prepared, C.int64_t(product), C.int64_t(user), C.int64_t(rating),
		chars(comment), C.int(len(comment))))
}

func (c *connection) lastID() int64 {
	return int64(C.sqlite3_last_insert_rowid(c.database))
}

func (c *connection) changes() int {
	return int(C.sqlite3_changes(c.database))
}

// check ends the program: none of the statements can fail on a good file.
func (c *connection) check(status C.int) {
	if status != C.SQLITE_OK && status != C.SQLITE_DONE && status != C.SQLITE_ROW {
		panic(fmt.Sprintf("SQLite: %s", C.GoString(C.sqlite3_errmsg(c.database))))
	}
}

// chars is the bytes of a text, for the time of one call. C must not keep it.
func chars(text string) *C.char {
	if text == "" {
		return (*C.char)(unsafe.Pointer(&nothing[0]))
	}
	return (*C.char)(*(*unsafe.Pointer)(unsafe.Pointer(&text)))
}

var nothing = []byte{0}

// rows are packed columns that have not been read yet.
type rows struct {
	packed []byte
}

func (r *rows) more() bool {
	return len(r.packed) > 0
}

func (r *rows) integer() int64 {
	number := int64(binary.LittleEndian.Uint64(r.packed))
	r.packed = r.packed[8:]
	return number
}

func (r *rows) float() float64 {
	return math.Float64frombits(uint64(r.integer()))
}

// text is good until the next query.
func (r *rows) text() []byte {
	length := binary.LittleEndian.Uint32(r.packed)
	text := r.packed[4 : 4+length]
	r.packed = r.packed[4+length:]
	return text
}
