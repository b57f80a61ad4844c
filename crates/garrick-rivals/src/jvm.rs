//! Contenders that run on the Java virtual machine. Maven builds them at their first use.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use garrick_measure::Result;

/// A program in Java, with its build file.
pub(crate) struct Project {
    /// Name of the program's folder.
    name: &'static str,
    /// Class with the function `main`.
    main: &'static str,
    /// Versions of Java that can run the program.
    java: RangeInclusive<u32>,
    /// Reason why other versions of Java cannot run the program.
    why: &'static str,
    /// Arguments for `java`.
    flags: &'static [&'static str],
    /// Path and content of each of the program's files.
    files: &'static [(&'static str, &'static str)],
}

/// A number that is larger than every version number of Java.
const NEWEST: u32 = u32::MAX;

#[cfg(any(test, feature = "journal"))]
const SHARED: (&str, &str) = (
    "shared/Bench.java",
    include_str!("../jvm/shared/Bench.java"),
);

#[cfg(any(test, feature = "journal"))]
pub(crate) static PEKKO: Project = Project {
    name: "pekko",
    main: "pekko.Pekko",
    java: 17..=NEWEST,
    why: "Pekko's program is written in Java 17",
    flags: &[],
    files: &[
        SHARED,
        ("pekko/pom.xml", include_str!("../jvm/pekko/pom.xml")),
        ("pekko/tables.sql", include_str!("../jvm/pekko/tables.sql")),
        (
            "pekko/AddedSerializer.java",
            include_str!("../jvm/pekko/AddedSerializer.java"),
        ),
        (
            "pekko/Entity.java",
            include_str!("../jvm/pekko/Entity.java"),
        ),
        ("pekko/Pekko.java", include_str!("../jvm/pekko/Pekko.java")),
    ],
};

#[cfg(feature = "far")]
pub(crate) static ARTERY: Project = Project {
    name: "artery",
    main: "artery.Artery",
    java: 17..=NEWEST,
    why: "Pekko's program is written in Java 17",
    flags: &["-Xmx1g", "-XX:+UseParallelGC"],
    files: &[
        ("artery/pom.xml", include_str!("../jvm/artery/pom.xml")),
        (
            "artery/Artery.java",
            include_str!("../jvm/artery/Artery.java"),
        ),
        ("artery/Far.java", include_str!("../jvm/artery/Far.java")),
        ("artery/Near.java", include_str!("../jvm/artery/Near.java")),
        (
            "artery/Messages.java",
            include_str!("../jvm/artery/Messages.java"),
        ),
        (
            "artery/Format.java",
            include_str!("../jvm/artery/Format.java"),
        ),
    ],
};

#[cfg(any(test, feature = "journal"))]
pub(crate) static CAJUN: Project = Project {
    name: "cajun",
    main: "cajun.Cajun",
    java: 21..=21,
    why: "Cajun 0.7.0 uses preview features of Java 21, so no other version runs it",
    flags: &["--enable-preview"],
    files: &[
        SHARED,
        ("cajun/pom.xml", include_str!("../jvm/cajun/pom.xml")),
        ("cajun/Cajun.java", include_str!("../jvm/cajun/Cajun.java")),
    ],
};

/// An installed version of Java.
#[derive(Debug, Clone, PartialEq)]
struct Java {
    home: PathBuf,
    version: u32,
    /// True if this Java has a compiler.
    compiles: bool,
}

/// A Java program that has been built and can be run.
#[derive(Debug)]
pub(crate) struct Program {
    java: PathBuf,
    arguments: Vec<OsString>,
}

impl Project {
    /// Builds the program, unless it was built before.
    ///
    /// # Errors
    /// Returns a description of the missing program with instructions to install it, or the output
    /// of a failed build.
    pub(crate) fn build(&self) -> Result<Program> {
        let installed = installed();
        let java = chosen(self, &installed)?;
        let exe = env::current_exe()?;
        let above = exe.parent().ok_or("the program has no folder")?;
        let root = above.join("garrick-rivals-jvm").join(self.name);
        let (source, target) = (root.join(self.name), root.join(self.name).join("target"));
        let stamp = root.join("built");
        let content: String = self.files.iter().map(|(_, text)| *text).collect();
        if fs::read_to_string(&stamp).is_ok_and(|built| built == content) {
            return Ok(self.program(java, &target));
        }
        for (path, text) in self.files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().ok_or("a file without a folder")?)?;
            fs::write(path, text)?;
        }
        maven(&source, compiler(self, &installed)?)?;
        fs::write(stamp, content)?;
        Ok(self.program(java, &target))
    }

    fn program(&self, java: &Java, target: &Path) -> Program {
        let mut class_path = target.join("classes").into_os_string();
        class_path.push(":");
        class_path.push(target.join("dependency/*"));
        let flags = self.flags.iter().map(OsString::from);
        let rest = ["-cp".into(), class_path, self.main.into()];
        Program {
            java: java.home.join("bin/java"),
            arguments: flags.chain(rest).collect(),
        }
    }
}

impl Program {
    /// Returns the command that runs the program.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.java);
        command.args(&self.arguments);
        command
    }
}

/// Runs Maven, which downloads the libraries and compiles the program.
fn maven(source: &Path, java: &Java) -> Result<()> {
    eprintln!("Maven builds {}", source.display());
    let built = Command::new("mvn")
        .args(["-q", "-B", "-Dstyle.color=never", "-f"])
        .arg(source.join("pom.xml"))
        .args([
            "package",
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
        ])
        .env("JAVA_HOME", &java.home)
        .output();
    let output = match built {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let how = "mvn was not found: install Maven, by 'apt-get install maven' on Debian and \
                       Ubuntu";
            return Err(how.into());
        }
        built => built?,
    };
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = said.lines().filter(|line| line.contains("ERROR"));
    let why: Vec<&str> = errors.take(3).collect();
    Err(format!("Maven cannot build it: {}", why.join(" ")).into())
}

/// Returns the first installed Java that can run the project.
fn chosen<'a>(project: &Project, installed: &'a [Java]) -> Result<&'a Java> {
    let runs = |java: &&Java| project.java.contains(&java.version);
    let found = installed.iter().find(runs);
    found.ok_or_else(|| missing(project, installed, "").into())
}

/// Returns the first installed Java that can compile the project.
fn compiler<'a>(project: &Project, installed: &'a [Java]) -> Result<&'a Java> {
    let compiles = |java: &&Java| java.compiles && java.version >= *project.java.start();
    let found = installed.iter().find(compiles);
    found.ok_or_else(|| missing(project, installed, " with the compiler javac").into())
}

fn missing(project: &Project, installed: &[Java], with: &str) -> String {
    let wanted = project.java.start();
    let newer = match *project.java.end() {
        NEWEST => " or newer",
        _ => "",
    };
    let versions: Vec<String> = installed
        .iter()
        .map(|java| java.version.to_string())
        .collect();
    let found = match versions.as_slice() {
        [] => "there is no Java".to_owned(),
        versions => format!("there is Java {}", versions.join(", ")),
    };
    format!(
        "Java {wanted}{newer}{with} was not found ({found}): install a JDK {wanted}, such as that \
         of https://adoptium.net, and set JAVA_HOME to its folder. {}",
        project.why
    )
}

/// Returns all installed versions of Java: from `JAVA_HOME`, from the search path, and from
/// `/usr/lib/jvm`.
fn installed() -> Vec<Java> {
    let by_variable = env::var_os("JAVA_HOME").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path = env::split_paths(&path).find_map(|folder| {
        let java = fs::canonicalize(folder.join("java")).ok()?;
        Some(java.parent()?.parent()?.to_owned())
    });
    let usual = fs::read_dir("/usr/lib/jvm").into_iter().flatten();
    let usual = usual.filter_map(|entry| fs::canonicalize(entry.ok()?.path()).ok());
    let mut homes: Vec<PathBuf> = Vec::new();
    for home in by_variable.into_iter().chain(in_path).chain(usual) {
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes.into_iter().filter_map(java_in).collect()
}

fn java_in(home: PathBuf) -> Option<Java> {
    let said = Command::new(home.join("bin/java"))
        .arg("-version")
        .output()
        .ok()?;
    Some(Java {
        version: version(&String::from_utf8_lossy(&said.stderr))?,
        compiles: home.join("bin/javac").exists(),
        home,
    })
}

/// Parses the output of `java -version`, such as `openjdk version "21.0.8" 2025-07-15`.
fn version(said: &str) -> Option<u32> {
    let (_, rest) = said.split_once("version \"")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn java(version: u32) -> Java {
        Java {
            home: PathBuf::from(format!("/java/{version}")),
            version,
            compiles: version != 21,
        }
    }

    #[test]
    fn the_version_of_java_is_read() {
        let said = "Picked up OPTIONS\nopenjdk version \"21.0.8\" 2025-07-15 LTS\n";
        assert_eq!(version(said), Some(21));
        assert_eq!(version("openjdk version \"25\" 2025-09-16\n"), Some(25));
        assert_eq!(version("java: not found"), None);
    }

    #[test]
    fn each_project_gets_a_java_that_runs_it() {
        let installed = [java(11), java(17), java(25), java(21)];
        let version = |project| chosen(project, &installed).map(|java| java.version).ok();
        assert_eq!(version(&PEKKO), Some(17));
        assert_eq!(version(&CAJUN), Some(21));
        let compiles = compiler(&CAJUN, &installed).map(|java| java.version);
        assert_eq!(compiles.ok(), Some(25));
    }

    #[test]
    fn who_has_no_java_is_told_how_to_have_it() {
        let none = chosen(&PEKKO, &[]).expect_err("there is none").to_string();
        for words in ["Java 17 or newer", "no Java", "adoptium.net", "JAVA_HOME"] {
            assert!(none.contains(words), "{words} is missing: {none}");
        }
        let others = [java(17), java(25)];
        let other = chosen(&CAJUN, &others).expect_err("there are only others");
        let other = other.to_string();
        for words in ["Java 21 was not found", "17, 25", "preview"] {
            assert!(other.contains(words), "{words} is missing: {other}");
        }
        let compiler = compiler(&CAJUN, &[java(21)]).expect_err("it has no compiler");
        assert!(compiler.to_string().contains("javac"), "{compiler}");
    }

    #[test]
    fn the_class_path_has_the_classes_and_the_libraries() {
        let program = CAJUN.program(&java(21), Path::new("/target"));
        let command = program.command();
        assert_eq!(command.get_program(), "/java/21/bin/java");
        let arguments: Vec<_> = command.get_args().collect();
        let class_path = "/target/classes:/target/dependency/*";
        assert_eq!(
            arguments,
            ["--enable-preview", "-cp", class_path, "cajun.Cajun"]
        );
    }
}
