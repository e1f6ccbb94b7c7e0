// A careful native server for the same work: fasthttp, SQLite by its C interface, prepared statements, group commit, no
// cache. It shows what the machine allows without a JavaScript engine.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
)

const limitDefault = 100

func main() {
	path := os.Getenv("DATABASE")
	s := &service{reads: newReader(path), writes: newWriter(path)}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("native-go-fasthttp is ready on http://%s\n", listener.Addr())
	server := &fasthttp.Server{Handler: s.answer, NoDefaultServerHeader: true}
	if err := server.Serve(listener); err != nil {
		panic(err)
	}
}

type service struct {
	reads  *reader
	writes *writer
}

func (s *service) answer(ctx *fasthttp.RequestCtx) {
	path, method := string(ctx.Path()), string(ctx.Method())
	switch {
	case method == "GET" && path == "/products/":
		s.list(ctx, s.reads.appendProducts)
	case method == "GET" && path == "/categories/":
		s.list(ctx, s.reads.appendCategories)
	case method == "GET" && strings.HasPrefix(path, "/products/"):
		s.find(ctx, path[len("/products/"):], s.reads.appendProductWithReviews)
	case method == "GET" && strings.HasPrefix(path, "/reviews/products/"):
		skip, limit, ok := page(ctx)
		if !ok {
			return
		}
		s.find(ctx, path[len("/reviews/products/"):], func(to []byte, id int64) ([]byte, bool) {
			return s.reads.appendReviewsOfProduct(to, id, skip, limit)
		})
	case method == "GET" && strings.HasPrefix(path, "/reviews/"):
		s.find(ctx, path[len("/reviews/"):], s.reads.appendReviewWithParents)
	case method == "GET" && strings.HasPrefix(path, "/categories/"):
		s.find(ctx, path[len("/categories/"):], s.reads.appendCategory)
	case method == "POST" && path == "/products/":
		s.createProduct(ctx)
	case method == "PUT" && strings.HasPrefix(path, "/products/"):
		s.updateProduct(ctx, path[len("/products/"):])
	case method == "POST" && path == "/reviews/":
		s.createReview(ctx)
	default:
		refuse(ctx, 404)
	}
}

func (s *service) list(ctx *fasthttp.RequestCtx, appendPage func(to []byte, skip, limit int64) []byte) {
	skip, limit, ok := page(ctx)
	if !ok {
		return
	}
	respond(ctx, func(to []byte) ([]byte, bool) {
		s.reads.Lock()
		defer s.reads.Unlock()
		return appendPage(to, skip, limit), true
	})
}

func (s *service) find(ctx *fasthttp.RequestCtx, idText string, appendFound func([]byte, int64) ([]byte, bool)) {
	id, ok := parseID(ctx, idText)
	if !ok {
		return
	}
	respond(ctx, func(to []byte) ([]byte, bool) {
		s.reads.Lock()
		defer s.reads.Unlock()
		return appendFound(to, id)
	})
}

func (s *service) createProduct(ctx *fasthttp.RequestCtx) {
	product, ok := parseProduct(ctx)
	if !ok {
		return
	}
	respond(ctx, func(to []byte) ([]byte, bool) {
		found := s.writes.do(func(w *writer) bool {
			to = w.createProduct(to, *product.Name, *product.Description, *product.Price)
			return true
		})
		return to, found
	})
}

func (s *service) updateProduct(ctx *fasthttp.RequestCtx, idText string) {
	id, ok := parseID(ctx, idText)
	if !ok {
		return
	}
	product, ok := parseProduct(ctx)
	if !ok {
		return
	}
	respond(ctx, func(to []byte) ([]byte, bool) {
		found := s.writes.do(func(w *writer) (found bool) {
			to, found = w.changeProduct(to, id, *product.Name, *product.Description, *product.Price)
			return found
		})
		return to, found
	})
}

func (s *service) createReview(ctx *fasthttp.RequestCtx) {
	var review struct {
		Product *int64  `json:"product_id"`
		User    *int64  `json:"user_id"`
		Rating  *int64  `json:"rating"`
		Comment *string `json:"comment"`
	}
	err := json.Unmarshal(ctx.PostBody(), &review)
	if err != nil || review.Product == nil || review.User == nil || review.Comment == nil ||
		review.Rating == nil || *review.Rating < 1 || *review.Rating > 5 {
		refuse(ctx, 422)
		return
	}
	respond(ctx, func(to []byte) ([]byte, bool) {
		found := s.writes.do(func(w *writer) (found bool) {
			to, found = w.createReview(to, *review.Product, *review.User, *review.Rating, *review.Comment)
			return found
		})
		return to, found
	})
}

type productCreate struct {
	Name        *string  `json:"name"`
	Description *string  `json:"description"`
	Price       *float64 `json:"price"`
}

func parseProduct(ctx *fasthttp.RequestCtx) (productCreate, bool) {
	var product productCreate
	err := json.Unmarshal(ctx.PostBody(), &product)
	if err != nil || product.Name == nil || product.Description == nil || product.Price == nil || *product.Price <= 0 {
		refuse(ctx, 422)
		return product, false
	}
	characters := utf8.RuneCountInString(*product.Name)
	if characters < 3 || characters > 50 {
		refuse(ctx, 422)
		return product, false
	}
	return product, true
}

func parseID(ctx *fasthttp.RequestCtx, text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		refuse(ctx, 422)
	}
	return id, err == nil
}

func page(ctx *fasthttp.RequestCtx) (skip, limit int64, ok bool) {
	arguments := ctx.QueryArgs()
	skip, skipOK := parseNumber(arguments.Peek("skip"), 0)
	limit, limitOK := parseNumber(arguments.Peek("limit"), limitDefault)
	if !skipOK || !limitOK {
		refuse(ctx, 422)
	}
	return skip, limit, skipOK && limitOK
}

func parseNumber(text []byte, otherwise int64) (int64, bool) {
	if len(text) == 0 {
		return otherwise, true
	}
	number, err := strconv.ParseUint(string(text), 10, 63)
	return int64(number), err == nil
}

// respond lets the answer be written into the buffer that the response of this connection had before.
func respond(ctx *fasthttp.RequestCtx, write func(to []byte) ([]byte, bool)) {
	body, found := write(ctx.Response.SwapBody(nil)[:0])
	if !found {
		refuse(ctx, 404)
		return
	}
	ctx.SetContentType("application/json")
	ctx.Response.SwapBody(body)
}

func refuse(ctx *fasthttp.RequestCtx, status int) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.SetBodyString(`{"detail":"refused"}`)
}
