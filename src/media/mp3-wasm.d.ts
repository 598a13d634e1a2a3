// The encoder's code as a file: the path of it, in a checkout and inside the executable.

declare module 'wasm-media-encoders/wasm/mp3' {
  const path: string
  export default path
}
