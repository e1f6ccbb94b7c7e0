package main

import "sync"

const embeddedMax = 100

const productColumns = "id, name, description, price"

// reader answers reads from a connection of its own, so that reads go on while the writer waits for the disk.
// Reads with several statements see one moment.
type reader struct {
	sync.Mutex
	*connection
	begin, commit, product, productAlone, review, category statement
	products, reviewsOfPage, categories, productsOfPage    statement
	reviewsOfProduct, user                                 statement
}

func newReader(path string) *reader {
	c := open(path)
	return &reader{
		connection:   c,
		begin:        c.prepare("BEGIN", ""),
		commit:       c.prepare("COMMIT", ""),
		productAlone: c.prepare("SELECT "+productColumns+" FROM products WHERE id = ?", "ittf"),
		product: c.prepare(`
			SELECT product.id, name, description, price, review.id, user_id, rating, comment
			FROM products AS product LEFT JOIN reviews AS review ON product_id = product.id
			WHERE product.id = ? ORDER BY review.id LIMIT 100`, "ittfiiit"),
		review: c.prepare(`
			SELECT review.id, product_id, user_id, rating, comment, user.name, avatar,
				product.id, product.name, description, price
			FROM reviews AS review JOIN users AS user ON user.id = user_id JOIN products AS product ON product.id = product_id
			WHERE review.id = ?`, "iiiitttittf"),
		category: c.prepare(`
			SELECT category.id, category.name, category.description,
				product.id, product.name, product.description, price
			FROM categories AS category LEFT JOIN products AS product ON category_id = category.id
			WHERE category.id = ? ORDER BY product.id LIMIT 100`, "ittittf"),
		// The subquery walks a narrow index past the skipped rows.
		products: c.prepare("SELECT "+productColumns+` FROM products
			WHERE id >= (SELECT id FROM products ORDER BY id LIMIT 1 OFFSET ?) ORDER BY id LIMIT ?`, "ittf"),
		reviewsOfPage: c.prepare(`SELECT product_id, id, user_id, rating, comment FROM reviews
			WHERE product_id BETWEEN ? AND ? ORDER BY product_id, id`, "iiiit"),
		categories: c.prepare(`SELECT id, name, description FROM categories
			WHERE id >= (SELECT id FROM categories ORDER BY id LIMIT 1 OFFSET ?) ORDER BY id LIMIT ?`, "itt"),
		// Not BETWEEN, so that SQLite sees that the partial index applies.
		productsOfPage: c.prepare("SELECT category_id, "+productColumns+` FROM products
			WHERE category_id >= ? AND category_id <= ? ORDER BY category_id, id`, "iittf"),
		reviewsOfProduct: c.prepare(`SELECT review.id, user_id, rating, comment, name, avatar
			FROM reviews AS review JOIN users ON users.id = user_id
			WHERE product_id = ? ORDER BY review.id LIMIT ? OFFSET ?`, "iiittt"),
		user: c.prepare("SELECT name, avatar FROM users WHERE id = ?", "tt"),
	}
}

// appendProductWithReviews returns false if there is no such product.
func (r *reader) appendProductWithReviews(to []byte, id int64) ([]byte, bool) {
	columns := r.query(r.product, id)
	if !columns.more() {
		return to, false
	}
	to = append(appendRestOfProduct(appendInteger(to, `{"id":`, columns.integer()), &columns), `,"reviews":[`...)
	for first := true; ; first = false {
		// NULL, because there is no review.
		review := columns.integer()
		if review == 0 {
			break
		}
		if !first {
			to = append(to, ',')
		}
		to = appendReview(to, review, id, &columns)
		if !columns.more() {
			break
		}
		// The product again.
		columns.integer()
		columns.text()
		columns.text()
		columns.float()
	}
	return append(to, `]}`...), true
}

func (r *reader) appendReviewWithParents(to []byte, id int64) ([]byte, bool) {
	columns := r.query(r.review, id)
	if !columns.more() {
		return to, false
	}
	columns.integer()
	product := columns.integer()
	to = appendInteger(appendInteger(to, `{"id":`, id), `,"product_id":`, product)
	user := columns.integer()
	to = appendInteger(to, `,"user_id":`, user)
	to = appendInteger(to, `,"rating":`, columns.integer())
	to = appendText(append(to, `,"comment":`...), columns.text())
	to = append(appendUser(to, user, &columns), `,"product":`...)
	return append(appendProduct(to, &columns), '}'), true
}

func (r *reader) appendCategory(to []byte, id int64) ([]byte, bool) {
	columns := r.query(r.category, id)
	if !columns.more() {
		return to, false
	}
	to = appendInteger(to, `{"id":`, columns.integer())
	to = appendText(append(to, `,"name":`...), columns.text())
	to = appendText(append(to, `,"description":`...), columns.text())
	to = append(to, `,"products":[`...)
	for first := true; ; first = false {
		// NULL, because there is no product.
		product := columns.integer()
		if product == 0 {
			break
		}
		if !first {
			to = append(to, ',')
		}
		to = append(appendRestOfProduct(appendInteger(to, `{"id":`, product), &columns), '}')
		if !columns.more() {
			break
		}
		// The category again.
		columns.integer()
		columns.text()
		columns.text()
	}
	return append(to, `]}`...), true
}

func (r *reader) appendProducts(to []byte, skip, limit int64) []byte {
	r.run(r.begin)
	defer r.run(r.commit)
	// The next query overwrites these rows.
	page := append([]byte(nil), r.query(r.products, skip, limit).packed...)
	first, last := edges(rows{page}, func(columns *rows) { columns.text(); columns.text(); columns.float() })
	products, reviews := rows{page}, r.query(r.reviewsOfPage, first, last)
	next := nextParent(&reviews)
	to = append(to, '[')
	for products.more() {
		id := products.integer()
		to = append(appendRestOfProduct(appendInteger(to, `{"id":`, id), &products), `,"reviews":[`...)
		for shown := 0; next == id; next = nextParent(&reviews) {
			review := reviews.integer()
			if shown >= embeddedMax {
				reviews.integer()
				reviews.integer()
				reviews.text()
				continue
			}
			if shown > 0 {
				to = append(to, ',')
			}
			to = appendReview(to, review, id, &reviews)
			shown++
		}
		to = append(to, `]}`...)
		if products.more() {
			to = append(to, ',')
		}
	}
	return append(to, ']')
}

func (r *reader) appendCategories(to []byte, skip, limit int64) []byte {
	r.run(r.begin)
	defer r.run(r.commit)
	page := append([]byte(nil), r.query(r.categories, skip, limit).packed...)
	first, last := edges(rows{page}, func(columns *rows) { columns.text(); columns.text() })
	categories, products := rows{page}, r.query(r.productsOfPage, first, last)
	next := nextParent(&products)
	to = append(to, '[')
	for categories.more() {
		id := categories.integer()
		to = appendInteger(to, `{"id":`, id)
		to = appendText(append(to, `,"name":`...), categories.text())
		to = appendText(append(to, `,"description":`...), categories.text())
		to = append(to, `,"products":[`...)
		for shown := 0; next == id; next = nextParent(&products) {
			if shown >= embeddedMax {
				products.integer()
				products.text()
				products.text()
				products.float()
				continue
			}
			if shown > 0 {
				to = append(to, ',')
			}
			to = appendProduct(to, &products)
			shown++
		}
		to = append(to, `]}`...)
		if categories.more() {
			to = append(to, ',')
		}
	}
	return append(to, ']')
}

func (r *reader) appendReviewsOfProduct(to []byte, id, skip, limit int64) ([]byte, bool) {
	r.run(r.begin)
	defer r.run(r.commit)
	columns := r.query(r.productAlone, id)
	if !columns.more() {
		return to, false
	}
	product := appendProduct(nil, &columns)
	columns = r.query(r.reviewsOfProduct, id, limit, skip)
	to = append(to, '[')
	for columns.more() {
		to = appendInteger(to, `{"id":`, columns.integer())
		to = appendInteger(to, `,"product_id":`, id)
		user := columns.integer()
		to = appendInteger(to, `,"user_id":`, user)
		to = appendInteger(to, `,"rating":`, columns.integer())
		to = appendText(append(to, `,"comment":`...), columns.text())
		to = append(appendUser(to, user, &columns), `,"product":`...)
		to = append(append(to, product...), '}')
		if columns.more() {
			to = append(to, ',')
		}
	}
	return append(to, ']'), true
}

// edges returns the first and the last id of a page. `skip` reads past the other columns.
func edges(page rows, skip func(*rows)) (first, last int64) {
	for page.more() {
		last = page.integer()
		if first == 0 {
			first = last
		}
		skip(&page)
	}
	return first, last
}

// nextParent reads the first column of the next row; 0 if there is none.
func nextParent(children *rows) int64 {
	if !children.more() {
		return 0
	}
	return children.integer()
}
