// What the program hands on as text, and never runs.

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
