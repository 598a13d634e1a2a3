// A browser that was started under the POSIX locale calls its language `en-US@posix`, which `Intl` refuses. The chart library asks
// for it while it loads, and would not load.

try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true })
}
