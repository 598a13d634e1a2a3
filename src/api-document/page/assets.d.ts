// Files that the program sends as text, and must never run.

declare module '*.md' {
  const text: string
  export default text
}
declare module '*/standalone.js' {
  const text: string
  export default text
}
declare module '*/place.js' {
  const text: string
  export default text
}
declare module '*/search.js' {
  const text: string
  export default text
}
