package main

import "strconv"

// The answers are written by hand: a library that looks at types takes several times as long.

const hex = "0123456789abcdef"

func appendText(to []byte, text []byte) []byte {
	to = append(to, '"')
	start := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, text[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, '\\', 'n')
		default:
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	to = append(to, text[start:]...)
	return append(to, '"')
}

func appendInteger(to []byte, key string, number int64) []byte {
	return strconv.AppendInt(append(to, key...), number, 10)
}

func appendPrice(to []byte, price float64) []byte {
	return strconv.AppendFloat(append(to, `,"price":`...), price, 'f', -1, 64)
}

// appendProduct writes a product that something else shows, from its columns: id, name, description, price.
func appendProduct(to []byte, columns *rows) []byte {
	to = appendInteger(to, `{"id":`, columns.integer())
	return append(appendRestOfProduct(to, columns), '}')
}

// appendRestOfProduct writes what follows the id, and leaves the object open.
func appendRestOfProduct(to []byte, columns *rows) []byte {
	to = appendText(append(to, `,"name":`...), columns.text())
	to = appendText(append(to, `,"description":`...), columns.text())
	return appendPrice(to, columns.float())
}

// appendReview writes a review that its product shows. It has read the id already; columns: user, rating, comment.
func appendReview(to []byte, id int64, product int64, columns *rows) []byte {
	to = appendInteger(to, `{"id":`, id)
	to = appendInteger(to, `,"product_id":`, product)
	to = appendInteger(to, `,"user_id":`, columns.integer())
	to = appendInteger(to, `,"rating":`, columns.integer())
	to = appendText(append(to, `,"comment":`...), columns.text())
	return append(to, '}')
}

// appendUser writes a user that a review shows. Columns: name, avatar.
func appendUser(to []byte, id int64, columns *rows) []byte {
	to = appendInteger(to, `,"user":{"id":`, id)
	to = appendText(append(to, `,"name":`...), columns.text())
	to = appendText(append(to, `,"avatar":`...), columns.text())
	return append(to, '}')
}
