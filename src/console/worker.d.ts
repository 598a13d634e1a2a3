// Declares the gateway's own types of workers, for the compiler only: the console reads files of the gateway for their types, with
// the browser's library.

interface Worker {
  unref(): void
}
