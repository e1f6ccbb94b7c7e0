// Files that are imported as text, so that the executable contains them.
declare module '*.sql' {
  const text: string
  export default text
}
declare module '*.md' {
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
declare module '*.worker.js' {
  const text: string
  export default text
}
declare module '*.svg' {
  const text: string
  export default text
}
declare module '*.min.js' {
  const text: string
  export default text
}
declare module 'swagger-ui-dist/*' {
  const text: string
  export default text
}
