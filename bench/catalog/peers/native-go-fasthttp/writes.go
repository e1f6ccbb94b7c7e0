package main

import (
	"runtime"
	"sync"
)

// How many writes share one commit at most.
const groupMax = 512

// write is one request that changes something.
type write struct {
	// Does the work in a transaction, and returns whether what it refers to is there.
	work func(*writer) bool
	done chan bool
}

// writer commits writes that wait at the same time together: a commit waits for the disk, and once is enough for many.
type writer struct {
	// The same statements as for reads, on the connection that writes.
	*reader
	begin, insertProduct, updateProduct, insertReview statement
	queue                                             chan *write
}

var writes = sync.Pool{New: func() any { return &write{done: make(chan bool, 1)} }}

func newWriter(path string) *writer {
	r := newReader(path)
	w := &writer{
		reader:        r,
		begin:         r.prepare("BEGIN IMMEDIATE", ""),
		insertProduct: r.prepare("INSERT INTO products (name, description, price) VALUES (?, ?, ?)", ""),
		updateProduct: r.prepare("UPDATE products SET name = ?, description = ?, price = ? WHERE id = ?", ""),
		insertReview:  r.prepare("INSERT INTO reviews (product_id, user_id, rating, comment) VALUES (?, ?, ?, ?)", ""),
		queue:         make(chan *write, groupMax),
	}
	go w.commitGroups()
	return w
}

// do returns when the work is on the disk.
func (w *writer) do(work func(*writer) bool) bool {
	queued := writes.Get().(*write)
	queued.work = work
	w.queue <- queued
	found := <-queued.done
	writes.Put(queued)
	return found
}

func (w *writer) commitGroups() {
	type outcome struct {
		*write
		found bool
	}
	group := make([]outcome, 0, groupMax)
	for first := range w.queue {
		// Lets the requests that have arrived join.
		runtime.Gosched()
		w.run(w.begin)
		group = append(group[:0], outcome{first, first.work(w)})
		for len(group) < groupMax && len(w.queue) > 0 {
			next := <-w.queue
			group = append(group, outcome{next, next.work(w)})
		}
		w.run(w.commit)
		for _, written := range group {
			written.done <- written.found
		}
	}
}

func (w *writer) createProduct(to []byte, name, description string, price float64) []byte {
	w.writeProduct(w.insertProduct, name, description, price, 0)
	to = appendInteger(to, `{"id":`, w.lastID())
	to = appendText(append(to, `,"name":`...), []byte(name))
	to = appendText(append(to, `,"description":`...), []byte(description))
	return append(appendPrice(to, price), `,"reviews":[]}`...)
}

func (w *writer) changeProduct(to []byte, id int64, name, description string, price float64) ([]byte, bool) {
	w.writeProduct(w.updateProduct, name, description, price, id)
	if w.changes() == 0 {
		return to, false
	}
	return w.appendProductWithReviews(to, id)
}

func (w *writer) createReview(to []byte, product, user, rating int64, comment string) ([]byte, bool) {
	columns := w.query(w.productAlone, product)
	if !columns.more() {
		return to, false
	}
	shownProduct := appendProduct(nil, &columns)
	columns = w.query(w.user, user)
	if !columns.more() {
		return to, false
	}
	shownUser := appendUser(nil, user, &columns)
	w.writeReview(w.insertReview, product, user, rating, comment)
	to = appendInteger(to, `{"id":`, w.lastID())
	to = appendInteger(to, `,"product_id":`, product)
	to = appendInteger(to, `,"user_id":`, user)
	to = appendInteger(to, `,"rating":`, rating)
	to = appendText(append(to, `,"comment":`...), []byte(comment))
	to = append(append(to, shownUser...), `,"product":`...)
	return append(append(to, shownProduct...), '}'), true
}
