// Files that are imported as text, so that the executable contains them.
declare module '*.sql' {
  const text: string
  export default text
}
declare module '*.md' {
  const text: string
  export default text
}
declare module '*.txt' {
  const text: string
  export default text
}
declare module '*.css' {
  const text: string
  export default text
}
declare module '*.client.js' {
  const text: string
  export default text
}
declare module 'htmx.org/dist/htmx.min.js' {
  const text: string
  export default text
}
declare module 'htmx-ext-sse/dist/sse.min.js' {
  const text: string
  export default text
}
declare module 'swagger-ui-dist/swagger-ui-bundle.js' {
  const text: string
  export default text
}
declare module 'swagger-ui-dist/swagger-ui.css' {
  const text: string
  export default text
}
declare module '*.svg' {
  const text: string
  export default text
}
