(* What is read from a table of functions alone: which function depends on which entry, and of which the syntax says that they
   have a derivative where the conditions hold.  Slopes.v proves that they have. *)
From Coq Require Import ZArith NArith Lia.
From Coq Require List.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp Require Import boolp classical_sets functions reals topology normedtype derive sequences exp realfun.
From Attention Require Import Rationals Expressions Functions Rules Derivatives Calculus.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

(* ------------------------------------------------------------------------------------------- what is read from syntax *)

Definition one_power : ratio := (1%Z, xH).
Definition below (k : N) (vs : seq index) := all (fun v : index => N.ltb v.1 k) vs.
Fixpoint bound_apart (at_ : seq index) (e : expr) : bool := match e with
  | Add a b | Mul a b => bound_apart at_ a && bound_apart at_ b
  | Sum v a => (v \notin at_) && bound_apart at_ a | _ => true end.

Section Syntax.
Variables (T : table) (given : seq condition) (outer : seq nat) (by_ : nat) (at_ : seq index).

(* an entry has as many indices, of the same sizes, as what it is an entry of *)
Definition fits (k : nat) (vs : seq index) : bool :=
  if k == by_ then size vs == size at_ else if find T k is Some n then sizes vs == sizes (slots n) else true.
Fixpoint typed (e : expr) : bool := match e with
  | Entry k vs => fits k vs | Add a b | Mul a b => typed a && typed b | Sum _ a => typed a | _ => true end.
Definition has_beside (h : head) (n : node) : bool := if beside T h n is Some j then j \notin outer else false.
(* rows and columns of the same sizes, i indices each *)
Definition square (i : nat) (n : node) : bool :=
  (size (slots n) == (i + i)%N) && (take i (sizes (slots n)) == drop i (sizes (slots n))).
(* whether a function has a derivative where the conditions hold *)
Definition smooth_head (k : nat) (n : node) : bool := match function n with
  | Exp | Unit _ | Split => true
  | Softmax i => (i <= size (slots n))%N
  | Raised q => (q == one_power) || has_beside (Raised (plus q ((-1)%Z, xH))) n &&
      (if q.2 == xH then Z.leb 0 q.1 || nonzero T given k else positive T given k)
  | Log => has_beside (Raised ((-1)%Z, xH)) n && positive T given k
  | Step => nonzero T given k
  | Inverse i => has given (IsInvertible k) && square i n
  | Arbitrary _ => false end.
(* the inverse of a matrix, not of a family of matrices *)
Definition one_matrix (n : node) : bool := if function n is Inverse i then size (slots n) == (i + i)%N else true.
Definition smooth_node (k : nat) (n : node) : bool :=
  [&& typed (argument n), disjoint at_ (slots n), one_matrix n & ~~ depends T by_ k || (k \notin outer) && smooth_head k n].
(* the functions of which it is not known that they have derivatives *)
Fixpoint rough (T' : table) : seq nat := match T' with
  | [::] => [::]
  | (k, n) :: T'' => let others := rough T'' in
    if (k == by_) || smooth_node k n && all (fun t => t \notin others) (numbers (argument n)) then others else k :: others end.
Definition differentiable (e : expr) : bool := let bad := rough T in typed e && all (fun t => t \notin bad) (numbers e).
(* a condition that stays true near the point *)
Definition carried (c : condition) : bool :=
  let: (k, open) := match c with
    | IsPositive k | IsNonzero k => (k, fun=> true) | IsInvertible k => (k, fun n => square (size (slots n))./2 n) end in
  if find T k is Some n then
    all (fun t => ~~ depends T by_ t) (numbers (argument n))
    || open n && (disjoint at_ (slots n) && differentiable (argument n)) else true.
(* a variable is an input, or a matrix that stands for a point *)
Definition is_variable (k : nat) : bool := if find T k is Some n then head_eq (function n) (Raised one_power) else true.
End Syntax.

(* -------------------------------------------------------------------------------------------- facts about tables alone *)

Section Tables.
Variables (T : table).
Hypothesis T_formed : well_formed T.
Definition names (T' : table) : seq nat := [seq kn.1 | kn <- T'].

Lemma find_names T' k : find T' k = None <-> k \notin names T'.
Proof. by elim: T' => [|[j n] T' IH] //=; rewrite inE negb_or [k == j]eq_sym; case: eqP. Qed.
Lemma formed_split pre k n T' : well_formed (pre ++ (k, n) :: T') ->
  [/\ k \notin names pre, k \notin names T' & forall t, t \in numbers (argument n) -> t \notin k :: names pre].
Proof.
elim: pre => [|[j m] pre IH] /=.
  case/and4P => _ fresh self _; split=> //; last by move=> t tn; rewrite inE; apply: contraNneq self => <-.
  by elim: T' fresh => [|[i p] T' IH] //= /andP[/andP[_ ik] /IH]; rewrite inE negb_or eq_sym ik.
case/and4P => _; rewrite all_cat /= => /and3P[_ /andP[jn kj] _] self /IH [a b c].
split=> //; first by rewrite inE negb_or a kj.
move=> t tn; move: (c t tn); rewrite !inE !negb_or => /andP[-> ->]; rewrite andbT.
by apply: contraNneq jn => <-.
Qed.
Lemma find_split k n : find T k = Some n -> exists pre T', T = pre ++ (k, n) :: T' /\ k \notin names pre.
Proof.
elim: T => [|[j m] T' IH] //=; case: eqP => [-> [->]|jk /IH [pre [T'' [-> f]]]]; first by exists [::], T'.
by exists ((j, m) :: pre), T''; split=> //; rewrite /= inE negb_or f andbT; apply/eqP => E; case: jk.
Qed.
Lemma find_in pre j m T' : T = pre ++ (j, m) :: T' -> find T j = Some m.
Proof.
move=> E; move: T_formed; rewrite E => /formed_split [jp _ _].
elim: (pre) jp => [|[i p] pre' IHp] /=; first by rewrite eqxx.
by rewrite inE negb_or eq_sym => /andP[/negPf -> /IHp].
Qed.
(* what holds of inputs, and of a function if it does of all that its argument has, holds of all *)
Lemma table_ind (P : nat -> Prop) : (forall k, find T k = None -> P k) ->
  (forall k n, find T k = Some n -> (forall t, t \in numbers (argument n) -> P t) -> P k) -> forall k, P k.
Proof.
move=> Pinput Pnode k; have aux T' pre j : T = pre ++ T' -> j \notin names pre -> P j; last exact: (aux T [::]).
elim: T' pre j => [|[i m] T' IH] pre j E jp; first by apply: Pinput; apply/find_names; rewrite E cats0.
have E' : T = rcons pre (i, m) ++ T' by rewrite cat_rcons.
have [->|/eqP ji] := j =P i; last by apply: (IH _ _ E'); rewrite /names map_rcons mem_rcons inE negb_or ji.
apply: (Pnode _ _ (find_in E)) => t tm; apply: (IH _ _ E').
have := T_formed; rewrite E => /formed_split [_ _ /(_ _ tm)].
by rewrite /names map_rcons mem_rcons.
Qed.

Variables (by_ : nat) (at_ : seq index).
Lemma slope_skip pre T' k vs : k \notin names pre ->
  slope T by_ at_ (pre ++ T') k vs = slope T by_ at_ T' k vs.
Proof.
elim: pre => [|[j m] pre IH] //=; rewrite inE negb_or eq_sym => /andP[/negPf jk /IH E].
by rewrite E jk; case: T' {IH E} => [|[i p] T'] /=; case: (k == by_).
Qed.
Lemma depends_skip pre T' k : k \notin names pre -> depends (pre ++ T') by_ k = depends T' by_ k.
Proof.
elim: pre => [|[j m] pre IH] //=; rewrite inE negb_or eq_sym => /andP[/negPf jk /IH E].
by rewrite E jk; case: T' {IH E} => [|[i p] T'] /=; case: (k == by_).
Qed.
Lemma diff_ext s s' e : (forall k vs, k \in numbers e -> s k vs = s' k vs) -> diff s e = diff s' e.
Proof.
elim: e => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] H //=.
- by apply: H; rewrite inE.
- by rewrite IHa ?IHb // => k vs kn; apply: H; rewrite mem_cat kn ?orbT.
- by rewrite IHa ?IHb // => k vs kn; apply: H; rewrite mem_cat kn ?orbT.
by rewrite IHa.
Qed.
Lemma numbers_place f k e : numbers (place f k e) = numbers e.
Proof. by elim: e f => [q|b q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] f //=; rewrite ?IHa ?IHb. Qed.

Definition base_name (n : node) (vs : seq index) : N := above (at_ ++ vs ++ slots n ++ every_index (argument n)).
Definition argument_slope (n : node) (vs : seq index) : expr :=
  diff (slope T by_ at_ T) (place (fixed (base_name n vs)) (base_name n vs) (argument n)).
(* the slope of a function in terms of those of its argument's entries *)
Lemma slope_eq k n vs : find T k = Some n -> k != by_ ->
  slope T by_ at_ T k vs = slope_of T at_ k n (depends T by_ k) (argument_slope n vs) vs.
Proof.
move=> /find_split [pre [T' [E kp]]] /negPf kb.
have -> : slope T by_ at_ T k vs = slope T by_ at_ ((k, n) :: T') k vs by rewrite {2}E slope_skip.
have -> : depends T by_ k = depends ((k, n) :: T') by_ k by rewrite {1}E depends_skip.
rewrite /= kb eqxx /=; congr (slope_of _ _ _ _ _ _ _); apply: diff_ext => t ws; rewrite numbers_place => tn.
have F : well_formed (pre ++ (k, n) :: T') by rewrite -E.
have [_ _ /(_ _ tn) tp] := formed_split F.
by rewrite {3}E -cat_rcons slope_skip // /names map_rcons mem_rcons.
Qed.
Lemma depends_eq k n : find T k = Some n -> k != by_ -> depends T by_ k = seq.has (depends T by_) (numbers (argument n)).
Proof.
move=> /find_split [pre [T' [E kp]]] /negPf kb.
have -> : depends T by_ k = depends ((k, n) :: T') by_ k by rewrite {1}E depends_skip.
rewrite /= kb eqxx /=; apply: eq_in_has => t tn; have F : well_formed (pre ++ (k, n) :: T') by rewrite -E.
have [_ _ /(_ _ tn) tp] := formed_split F.
by rewrite {1}E -cat_rcons depends_skip // /names map_rcons mem_rcons.
Qed.
Lemma depends_input k : find T k = None -> k != by_ -> depends T by_ k = false.
Proof.
move=> /find_names F /negPf kb; have := depends_skip [::] F.
by rewrite cats0 /= kb.
Qed.
Lemma slope_input k vs : find T k = None -> k != by_ -> slope T by_ at_ T k vs = Int 0.
Proof.
move=> /find_names F /negPf kb; have := slope_skip [::] vs F.
by rewrite cats0 /= kb.
Qed.
Lemma slope_variable vs : slope T by_ at_ T by_ vs = deltas_between vs at_.
Proof. by case: T => [|[j n] T'] /=; rewrite eqxx. Qed.

Variables (given : seq condition) (outer : seq nat).
Local Notation bad T' := (rough T given outer by_ at_ T').
Lemma rough_names T' t : t \in bad T' -> t \in names T'.
Proof. by elim: T' => [|[j m] T' IH] //=; case: ifP => _; rewrite !inE; [move/IH -> | case/orP => [->|/IH ->]]; rewrite ?orbT. Qed.
Lemma rough_skip pre T' t : t \notin names pre -> (t \in bad (pre ++ T')) = (t \in bad T').
Proof.
elim: pre => [|[j m] pre IH] //=; rewrite inE negb_or => /andP[tj /IH <-].
by case: ifP => // _; rewrite inE (negPf tj).
Qed.
Lemma rough_eq k n : find T k = Some n -> k != by_ -> k \notin bad T ->
  smooth_node T given outer by_ at_ k n /\ forall t, t \in numbers (argument n) -> t \notin bad T.
Proof.
move=> /find_split [pre [T' [E kp]]] /negPf kb; rewrite [X in bad X]E rough_skip //=.
have [_ kT' np] : [/\ k \notin names pre, k \notin names T' & forall t, t \in numbers (argument n) -> t \notin k :: names pre].
  by apply: formed_split; rewrite -E.
rewrite kb /=; case: ifP => [/andP[s /allP A] _|_]; last by rewrite inE eqxx.
split=> // t tn; rewrite -cat_rcons rough_skip; first exact: A.
by rewrite /names map_rcons mem_rcons; exact: np.
Qed.

Lemma expr_eqP a b : expr_eq a b -> a = b.
Proof.
elim: a b => [q|c q|i j|t vs|a IHa b IHb|a IHa b IHb|v a IHa] [q'|c' q'|i' j'|t' vs'|a' b'|a' b'|v' a'] //=.
- by move/eqP ->.
- by case/andP => /eqP -> /eqP ->.
- by case/andP => /eqP -> /eqP ->.
- by case/andP => /eqP -> /eqP ->.
- by case/andP => /IHa -> /IHb ->.
- by case/andP => /IHa -> /IHb ->.
by case/andP => /eqP -> /IHa ->.
Qed.
Lemma beside_find h n j : beside T h n = Some j ->
  exists m, [/\ find T j = Some m, function m = h, slots m = slots n & argument m = argument n].
Proof.
pose found j := exists m, [/\ find T j = Some m, function m = h, slots m = slots n & argument m = argument n].
rewrite /beside; set step := fun _ _ => _.
have aux T' pre o : (forall j, o = Some j -> found j) -> T = pre ++ T' -> foldl step o T' = Some j -> found j.
  elim: T' pre o => [|[i m] T' IH] pre o H E /=; first exact: H.
  apply: (IH (rcons pre (i, m))); last by rewrite cat_rcons.
  move=> j'; rewrite /step /=; case: ifP => [/and3P[/head_eqP A /eqP B /expr_eqP C] [<-]|_ /H //].
  by exists m; split=> //; exact: find_in E.
exact: (aux T [::]).
Qed.
End Tables.
