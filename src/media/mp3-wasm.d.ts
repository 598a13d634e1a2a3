// The encoder's code as a file: its path, in a checkout and inside the executable.

declare module 'wasm-media-encoders/wasm/mp3' {
  const path: string
  export default path
}
