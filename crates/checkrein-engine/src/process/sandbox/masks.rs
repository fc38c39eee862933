//! What is masked unless somebody says otherwise: what could give a verdict or speak in the user's name.

#[cfg(target_os = "linux")]
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// In the home directory: keys, passwords, cookies, and sockets of programs that act for the user.
const IN_HOME: &[&str] = &[
    ".Xauthority",
    ".aws",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/checkrein",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/tea",
    ".docker",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/checkrein",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pki",
    ".pypirc",
    ".ssh",
    ".vault-token",
    ".yarnrc.yml",
];

/// Sockets by which services do what they are told, often as root. `/var/run` is `/run` nearly everywhere.
const SOCKETS: &[&str] = &[
    "/run",
    "/var/lib/incus/unix.socket",
    "/var/lib/lxd/unix.socket",
    "/var/run",
    "/var/snap/lxd/common/lxd/unix.socket",
];

/// Below what is masked, and needed to find programs and the names of hosts.
const READABLE: &[&str] = &[
    "/run/NetworkManager/no-stub-resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/booted-system",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/resolvconf/resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/systemd/resolve/stub-resolv.conf",
];

/// Variables that say where credentials are, if not where they usually are.
const NAMED: &[&str] = &[
    "DOCKER_CONFIG",
    "GH_CONFIG_DIR",
    "GNUPGHOME",
    "KRB5CCNAME",
    "KUBECONFIG",
    "NETRC",
    "PASSWORD_STORE_DIR",
    "PGPASSFILE",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// The paths to mask: the store's directory with all that lies beside the store, the directories of settings,
/// and what is known to hold credentials or sockets, by its place or by a variable. `others` are the directories of
/// settings. Not all of them have to be there.
pub fn default_masks(
    home: &Path,
    store_directory: &Path,
    others: &[PathBuf],
    environment: &[(String, String)],
) -> Vec<PathBuf> {
    let mut masks = vec![store_directory.to_owned()];
    masks.extend(others.iter().cloned());
    masks.extend(IN_HOME.iter().map(|name| home.join(name)));
    masks.extend(SOCKETS.iter().map(PathBuf::from));
    for (name, value) in environment {
        let credential = NAMED.contains(&name.as_str());
        masks.extend(paths_in(value).filter(|path| credential || is_socket(path)));
    }
    masks
}

/// The paths a variable names: as it is, as a list, or in an address such as `unix:path=/run/bus,guid=1`.
fn paths_in(value: &str) -> impl Iterator<Item = PathBuf> {
    value.split([',', ';', ':', '=']).filter_map(|part| {
        let path = PathBuf::from(part.strip_prefix("//").unwrap_or(part));
        (path.is_absolute() && path != Path::new("/")).then_some(path)
    })
}

fn is_socket(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// So many entries are looked at, those of the upper directories first.
#[cfg(target_os = "linux")]
const LOOKED_AT_MAX: usize = 200_000;

/// The sockets below a directory. Whoever can reach one can speak to the program behind it: an agent for SSH, an
/// editor, a daemon.
#[cfg(target_os = "linux")]
pub(super) fn sockets_below(directory: &Path) -> Vec<PathBuf> {
    let mut sockets = Vec::new();
    let (mut waiting, mut left) = (VecDeque::from([directory.to_owned()]), LOOKED_AT_MAX);
    while let Some(next) = waiting.pop_front() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            if left == 0 {
                return sockets;
            }
            left -= 1;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push_back(entry.path()),
                Ok(kind) if kind.is_socket() => sockets.push(entry.path()),
                _ => {}
            }
        }
    }
    sockets
}

/// What is to be readable in spite of the default masks. Not all of it has to be there.
pub fn default_readable() -> Vec<PathBuf> {
    READABLE.iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn bind(path: PathBuf) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        drop(UnixListener::bind(&path).unwrap());
        path
    }

    #[test]
    fn what_variables_name_is_masked() {
        let place = tempfile::tempdir().unwrap();
        let (agent, bus) = (bind(place.path().join("ssh.sock")), bind(place.path().join("bus")));
        for (variable, value, expected) in [
            ("SSH_AUTH_SOCK", agent.display().to_string(), vec![agent.clone()]),
            ("ANY_BUS", format!("unix:path={},guid=1", bus.display()), vec![bus]),
            ("DOCKER_HOST", format!("unix://{}", agent.display()), vec![agent]),
            (
                "KUBECONFIG",
                "/one/kube:/other/kube".to_owned(),
                vec!["/one/kube".into(), "/other/kube".into()],
            ),
            ("KRB5CCNAME", "FILE:/tickets".to_owned(), vec!["/tickets".into()]),
            ("PATH", "/usr/bin:/bin".to_owned(), vec![]),
        ] {
            let masks = |environment: &[(String, String)]| {
                default_masks(Path::new("/no/home"), Path::new("/no/store"), &[], environment)
            };
            let mut masked = masks(&[(variable.to_owned(), value)]);
            masked.retain(|path| !masks(&[]).contains(path));
            assert_eq!(masked, expected, "{variable}");
        }
    }

    #[test]
    fn sockets_are_found_however_deep_they_lie() {
        let home = tempfile::tempdir().unwrap();
        let expected =
            [bind(home.path().join("agent.sock")), bind(home.path().join("a/b/c/d/e/editor.sock"))];
        fs::write(home.path().join("a/file"), "").unwrap();
        assert_eq!(sockets_below(home.path()), expected);
    }
}
