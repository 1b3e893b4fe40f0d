//! Guarded maps of files that may be cut: missing pages read as zeros, where the system would end the process.
//!
//! A read of a mapped page that its file no longer has raises SIGBUS. The handler here knows every guarded map from
//! a table of fixed size. For an address in one of them it puts pages of zeros over the rest of that map, notes that the
//! map is cut, and returns; the interrupted load is tried again and finds a zero. Readers ask [`Guard::is_cut`] before
//! they trust the bytes. Any other SIGBUS goes to the handler that was there before, or ends the process.
//!
//! The handler takes no lock and allocates nothing. It works in any thread and in forked children, who inherit maps,
//! table and handler.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering, fence};

use libc::{c_int, c_void, sigaction, siginfo_t};

/// Maps that are guarded at a time; a file beyond is read into memory instead.
const MOST_MAPS: usize = 1_024;
/// Handlers that are known behind this one, and calls that are passed on to them at a time.
const MOST_BEFORE: usize = 8;
const MOST_CALLS: usize = 64;

/// A map in the table. Two bits of `version` say what it is: 0 free, 1 being written, 2 in use, 3 being freed.
struct Place {
    version: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
    file: AtomicI32,
    cut: AtomicBool,
    /// Handlers that are at work on it.
    held: AtomicUsize,
}

static TABLE: [Place; MOST_MAPS] = [const { Place::free() }; MOST_MAPS];

/// The handlers that were there before, the oldest first.
struct Before {
    handler: AtomicUsize,
    flags: AtomicI32,
}

static BEFORE: [Before; MOST_BEFORE] =
    [const { Before { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicI32::new(0) } }; MOST_BEFORE];
static KNOWN: AtomicUsize = AtomicUsize::new(0);
/// The threads that are inside a handler from before, once for each call.
static CALLING: [AtomicUsize; MOST_CALLS] = [const { AtomicUsize::new(0) }; MOST_CALLS];

/// Keeps a map in the table; dropped before the map is.
#[derive(Debug)]
pub(crate) struct Guard(usize);

impl Guard {
    /// Guard the pages of a map of a file, which stays open as long; None where it cannot be guarded.
    pub(crate) fn new(bytes: &[u8], file: &std::fs::File) -> Option<Self> {
        use std::os::fd::AsRawFd;

        install()?;
        let start = bytes.as_ptr().addr();
        let at = TABLE.iter().position(|place| place.claim(start, start + bytes.len(), file.as_raw_fd()))?;
        Some(Self(at))
    }

    /// True if a page of the map was looked at that its file no longer had.
    pub(crate) fn is_cut(&self) -> bool {
        TABLE[self.0].cut.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Place { version, held, .. } = &TABLE[self.0];
        version.fetch_add(1, Ordering::SeqCst);
        // A handler that found the map before may be about to put pages there, where others could lie by then. In a
        // forked child it may have been one of the parent's threads, so this ends.
        for _ in 0..1_000_000 {
            if held.load(Ordering::SeqCst) == 0 {
                break;
            }
            std::hint::spin_loop();
        }
        version.fetch_add(1, Ordering::Release);
    }
}

impl Place {
    const fn free() -> Self {
        let (version, start, end) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        Self { version, start, end, file: AtomicI32::new(-1), cut: AtomicBool::new(false), held: AtomicUsize::new(0) }
    }

    fn claim(&self, start: usize, end: usize, file: c_int) -> bool {
        let version = self.version.load(Ordering::Relaxed);
        if !version.is_multiple_of(4)
            || self.version.compare_exchange(version, version + 1, Ordering::AcqRel, Ordering::Relaxed).is_err()
        {
            return false;
        }
        self.start.store(start, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
        self.file.store(file, Ordering::Relaxed);
        self.cut.store(false, Ordering::Relaxed);
        self.version.store(version + 2, Ordering::Release);
        true
    }

    /// Call `with` with start, end and file of a map in use, which stays in the table during the call.
    fn hold(&self, with: impl FnOnce((usize, usize, c_int)) -> bool) -> bool {
        self.held.fetch_add(1, Ordering::SeqCst);
        let done = self.read().is_some_and(with);
        self.held.fetch_sub(1, Ordering::SeqCst);
        done
    }

    fn read(&self) -> Option<(usize, usize, c_int)> {
        let version = self.version.load(Ordering::SeqCst);
        let (start, end) = (self.start.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
        let file = self.file.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        (version % 4 == 2 && self.version.load(Ordering::Relaxed) == version).then_some((start, end, file))
    }

    /// Put zeros over what lies behind an address of the map, and over its page.
    fn mend(&self, from: usize, (start, end, _): (usize, usize, c_int)) -> bool {
        self.cut.store(true, Ordering::Release);
        let from = start + (from - start) / page_bytes() * page_bytes();
        let (flags, access) = (libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANON, libc::PROT_READ);
        // SAFETY: the range lies in a map of this process that its owner keeps while it is read, page by page, and only
        // pages that hold nothing any more are replaced. Readers see zeros, which are valid for all that is mapped.
        let result = unsafe { libc::mmap(from as *mut c_void, end - from, access, flags, -1, 0) };
        result != libc::MAP_FAILED
    }
}

fn page_bytes() -> usize {
    // SAFETY: asks for a constant of the system.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4_096)
}

/// Have the handler in front, in place of whatever came there since it was last.
fn install() -> Option<()> {
    // SAFETY: the structures are of the types that the calls want, and zeros are valid in them; the handler has the
    // signature that SA_SIGINFO asks for.
    unsafe {
        let mut now: sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut now) != 0 {
            return None;
        }
        let own = on_bus as *const () as usize;
        if now.sa_sigaction == own {
            return Some(());
        }
        // Known before it can be called. Two threads at once may both note it, and then it is asked twice.
        let at =
            KNOWN.fetch_update(Ordering::AcqRel, Ordering::Acquire, |known| (known < MOST_BEFORE).then_some(known + 1));
        let place = &BEFORE[at.ok()?];
        place.flags.store(now.sa_flags, Ordering::Relaxed);
        place.handler.store(now.sa_sigaction, Ordering::Release);
        let mut action: sigaction = std::mem::zeroed();
        action.sa_sigaction = own;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        (libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) == 0).then_some(())
    }
}

extern "C" fn on_bus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system hands over valid pointers, and errno is the interrupted code's, which must find it unchanged.
    unsafe {
        let errno = errno();
        let before = *errno;
        // Codes of the system for a fault; others say who sent the signal.
        let is_fault = (1..=5).contains(&(*info).si_code);
        let mended = if is_fault { mend_at((*info).si_addr().addr()) } else { mend_short() };
        if !mended {
            pass_on(signal, info, context, is_fault);
        }
        *errno = before;
    }
}

fn mend_at(address: usize) -> bool {
    let holds = |map: (usize, usize, c_int)| (map.0..map.1).contains(&address);
    TABLE.iter().any(|place| place.hold(|map| holds(map) && place.mend(address, map)))
}

/// Mend every map whose file is shorter by now.
///
/// A handler in front of this one, such as that of Python's `faulthandler`, passes a fault on by raising the signal
/// again, and the address is lost. When all handlers have returned the load is tried again.
fn mend_short() -> bool {
    let mut any = false;
    for place in &TABLE {
        any |= place.hold(|map| {
            let left = file_bytes(map.2).map(|bytes| bytes.next_multiple_of(page_bytes()));
            let from = map.0.saturating_add(left.unwrap_or(usize::MAX));
            from < map.1 && !place.cut.load(Ordering::Acquire) && place.mend(from, map)
        });
    }
    any
}

fn file_bytes(file: c_int) -> Option<usize> {
    // SAFETY: zeros are valid in the structure, which the call fills; the file is open while its map is in the table.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        if libc::fstat(file, &raw mut stat) == 0 { usize::try_from(stat.st_size).ok() } else { None }
    }
}

/// Call the handler from before, or do what the system would have done.
///
/// # Safety
/// The arguments are those of a signal handler.
unsafe fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void, is_fault: bool) {
    // SAFETY: the handler is one that the system would have called with the same arguments, and the functions that are
    // called are allowed in signal handlers.
    unsafe {
        let own = libc::pthread_self() as usize;
        // A handler from before may itself pass on to this one: then it is the turn of the one before it.
        let depth = CALLING.iter().filter(|calling| calling.load(Ordering::Relaxed) == own).count();
        let level = KNOWN.load(Ordering::Acquire).checked_sub(depth + 1);
        let (handler, flags) = level.map_or((libc::SIG_DFL, 0), |level| {
            (BEFORE[level].handler.load(Ordering::Acquire), BEFORE[level].flags.load(Ordering::Relaxed))
        });
        if handler == libc::SIG_IGN && !is_fault {
            return;
        }
        let calling = CALLING
            .iter()
            .find(|calling| calling.compare_exchange(0, own, Ordering::AcqRel, Ordering::Relaxed).is_ok());
        let (Some(calling), Some(level), false) = (calling, level, [libc::SIG_DFL, libc::SIG_IGN].contains(&handler))
        else {
            let mut action: sigaction = std::mem::zeroed();
            action.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            if !is_fault {
                libc::raise(signal);
            }
            return;
        };
        if flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        }
        calling.store(0, Ordering::Release);
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut pending);
        if libc::sigpending(&raw mut pending) == 0 && libc::sigismember(&raw const pending, signal) == 1 {
            // It passes on what it was given by raising it again: that is not for it.
            KNOWN.fetch_min(level, Ordering::AcqRel);
        }
    }
}

fn errno() -> *mut c_int {
    // SAFETY: returns a place of the thread's own.
    unsafe {
        #[cfg(any(target_os = "linux", target_os = "emscripten"))]
        return libc::__errno_location();
        #[cfg(any(target_os = "macos", target_os = "ios", target_os = "freebsd"))]
        return libc::__error();
        #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
        return libc::__errno();
    }
}
