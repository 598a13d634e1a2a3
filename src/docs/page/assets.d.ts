// Style sheets are texts that the program hands on.

declare module '*.css' {
  const text: string
  export default text
}
